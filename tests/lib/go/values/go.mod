module values

go 1.19
