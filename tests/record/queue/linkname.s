// Empty. With an assembly file in the package, Go accepts the functions of main.go that have no body.
