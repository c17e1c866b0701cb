module example.com/parked

go 1.19
