module channel

go 1.19
