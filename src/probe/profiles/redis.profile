# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#
# Redis and Valkey. A command is named by its first argument as the client sent it: argv[0] of struct client, whose
# place changed with 7.2. Debian's program is stripped but exports its functions.
about = Redis: commands, the event loop, saving
tried = redis-server 7.0.15 (Debian 12)
file = redis-server | valkey-server | redis-check-rdb
language = native

[op command]
symbol = call
args = client ptr, flags int
kind = call
class = {client->cmd->fullname:string | +0(+8(+0(+80(client)))):string}
root = yes
with = lookupSubcommand
without = clientSetinfoCommand

# Where the place of the arguments isn't known.
[op command.unnamed]
symbol = call
kind = call
class = command
root = yes
without = lookupSubcommand
optional = yes

[op command.later]
symbol = call
args = client ptr, flags int
kind = call
class = {client->cmd->fullname:string | \"command"}
root = yes
with = clientSetinfoCommand
optional = yes

[op loop.before-sleep]
symbol = beforeSleep
kind = internal

[op aof.flush]
symbol = flushAppendOnlyFile
kind = io

[op rdb.save]
symbol = rdbSave
kind = io

[op expire]
symbol = activeExpireCycle
kind = internal
