@rem On Windows: what "exec" is to a shell, for the scripts in package.json that begin with it.
@%*
