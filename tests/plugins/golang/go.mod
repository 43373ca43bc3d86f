module example.com/berth-plugin

go 1.21
