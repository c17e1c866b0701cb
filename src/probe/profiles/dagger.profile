# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
about = The Dagger engine
tried = not on the engine itself
file = program
language = go
[op call]
symbol = github.com/dagger/dagger/dagql.(*Cache).getOrInitCall
kind = call
