/*
 * Per key: `slots`, a sorted set of leases by the time they end; `waits`, how many waiters each process has of each party, and the limit they were
 * given; `alive`, the processes that wait, by the time until which they are believed to live; `turns`, when each party and process was served last.
 * All times are Redis's own. A lease and a field of `waits` begin with the id of their process, which is 36 characters long.
 */
export const keysOf = (key: string): readonly string[] => [
  `assay:slots:{${key}}`,
  `assay:waits:{${key}}`,
  `assay:alive:{${key}}`,
  `assay:turns:{${key}}`,
];

/** Where a process is told of leases that were given to it while another one asked: JSON `[key, lease, …]`. */
export const grantsChannel = (process: string): string => `assay:grants:${process}`;

/** The party that a lease belongs to: `<process><unique>:<party>`. */
export const partyOf = (lease: string): string => lease.slice(lease.indexOf(':') + 1);

/**
 * Says what has changed in one process, and gives free slots to those who wait in any. ARGV: key, process, lease ms, '1' when the waits are all
 * that there are (else differences), then three lists with their length before them: leases given back, leases held on to, and waits as party,
 * count, limit. Answers the ms after which a slot or a process may have ended, then the leases given to this process; those of others are published.
 */
export const syncScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local slots, waits, alive, turns = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local me, leaseMs = ARGV[2], tonumber(ARGV[3])
local at = 5
local function arg() at = at + 1; return ARGV[at - 1] end
for i = 1, tonumber(arg()) do redis.call('ZREM', slots, arg()) end
redis.call('ZREMRANGEBYSCORE', slots, '-inf', now)
for i = 1, tonumber(arg()) do redis.call('ZADD', slots, now + leaseMs, arg()) end

local all, dirty = {}, {}
local stored = redis.call('HGETALL', waits)
for i = 1, #stored, 2 do
  local count, limit = string.match(stored[i + 1], '^(%d+) (.+)$')
  all[stored[i]] = { count = tonumber(count), limit = tonumber(limit) }
end
local function drop(process)
  for field, want in pairs(all) do
    if string.sub(field, 1, 36) == process then want.count = 0; dirty[field] = true end
  end
end
for _, dead in ipairs(redis.call('ZRANGEBYSCORE', alive, '-inf', now)) do
  if dead ~= me then drop(dead) end
  redis.call('ZREM', alive, dead)
end
if ARGV[4] == '1' then drop(me) end
for i = 1, tonumber(arg()) do
  local party, count, limit = arg(), tonumber(arg()), tonumber(arg())
  local want = all[me .. party] or { count = 0 }
  want.count = math.max(0, want.count + count)
  want.limit = limit
  all[me .. party] = want
  dirty[me .. party] = true
end

local held = redis.call('ZCARD', slots)
local parties, heldBy, fields = 0, {}, 0
for field, want in pairs(all) do
  local party = string.sub(field, 37)
  if want.count > 0 then
    fields = fields + 1
    if not heldBy[party] then heldBy[party] = 0; parties = parties + 1 end
  end
end
local served = {}
if fields > 1 then
  if redis.call('HLEN', turns) > 1000 then redis.call('DEL', turns) end
  local known = redis.call('HGETALL', turns)
  for i = 1, #known, 2 do served[known[i]] = tonumber(known[i + 1]) end
end
if parties > 1 then
  for _, lease in ipairs(redis.call('ZRANGE', slots, 0, -1)) do
    local party = string.match(lease, ':(.*)$')
    if heldBy[party] then heldBy[party] = heldBy[party] + 1 end
  end
end
local turn = served.turn or 0
local function before(a, b)
  if not b then return true end
  local x, y = string.sub(a, 37), string.sub(b, 37)
  if heldBy[x] ~= heldBy[y] then return heldBy[x] < heldBy[y] end
  local p, q = served['p' .. x] or 0, served['p' .. y] or 0
  if p ~= q then return p < q end
  p, q = served['f' .. a] or 0, served['f' .. b] or 0
  if p ~= q then return p < q end
  return a < b
end

local mine, others, given = {}, {}, 0
while true do
  local best
  for field, want in pairs(all) do
    if want.count > 0 and held < want.limit and before(field, best) then best = field end
  end
  if not best then break end
  local process, party = string.sub(best, 1, 36), string.sub(best, 37)
  given = given + 1
  local lease = process .. string.format('%d%06d.%d', time[1], time[2], given) .. ':' .. party
  redis.call('ZADD', slots, now + leaseMs, lease)
  held = held + 1
  heldBy[party] = heldBy[party] + 1
  all[best].count = all[best].count - 1
  dirty[best] = true
  if fields > 1 then
    turn = turn + 1
    served['p' .. party] = turn
    served['f' .. best] = turn
    redis.call('HSET', turns, 'turn', turn, 'p' .. party, turn, 'f' .. best, turn)
  end
  if process == me then mine[#mine + 1] = lease else
    others[process] = others[process] or { ARGV[1] }
    table.insert(others[process], lease)
  end
end

local isWaiting = false
for field, want in pairs(all) do
  if want.count > 0 and string.sub(field, 1, 36) == me then isWaiting = true end
  if dirty[field] then
    if want.count > 0 then redis.call('HSET', waits, field, string.format('%d %.17g', want.count, want.limit))
    else redis.call('HDEL', waits, field) end
  end
end
if isWaiting then redis.call('ZADD', alive, now + leaseMs, me) else redis.call('ZREM', alive, me) end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, leaseMs * 2) end
for process, leases in pairs(others) do redis.call('PUBLISH', '${grantsChannel('')}' .. process, cjson.encode(leases)) end

local first = now + leaseMs
for _, set in ipairs({ slots, alive }) do
  local next = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
  if next[2] and tonumber(next[2]) < first then first = tonumber(next[2]) end
end
return { math.max(1, math.ceil(first - now) + 1), unpack(mine) }`;
