module shards

go 1.19
