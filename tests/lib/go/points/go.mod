module points

go 1.19
