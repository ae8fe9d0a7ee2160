module counters

go 1.19
