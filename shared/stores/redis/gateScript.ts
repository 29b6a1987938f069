import { paceFigures } from '../../coordination/pace.ts';

/*
 * Per key: `slots`, a sorted set of leases by the time they end; `waits`, how many waiters each process has of each party, with their limits and the
 * tokens that one of them wants; `alive`, the processes that wait, by the time until which they are believed to live; `turns`, when each party and
 * process was served last; `pace`, what was learned (the fields of `Pace`). All times are Redis's own. A lease and a field of `waits` begin with the
 * id of their process, which is 36 characters long.
 */
export const keysOf = (key: string): readonly string[] => [
  `assay:slots:{${key}}`,
  `assay:waits:{${key}}`,
  `assay:alive:{${key}}`,
  `assay:turns:{${key}}`,
  `assay:pace:{${key}}`,
];

/** Where a process hears of leases that were given to it while another one asked: JSON `[key, ms of refusals, lease, …]`. */
export const grantsChannel = (process: string): string => `assay:grants:${process}`;

/** The party that a lease belongs to: `<process><microseconds>.<n>~<tokens>:<party>`. */
export const partyOf = (lease: string): string => lease.slice(lease.indexOf(':') + 1);

/** The reasons why a waiting call does not start. The script answers the place of one in this list. */
export const waitReasons = ['slot', 'rate', 'overload'] as const;

const { decrease, rounds, firstPauseMs, longestPauseMs, togetherMs, stepMs, rememberedMs } = paceFigures;

/**
 * Says what has changed in one process, and lets in those who may come in, in any process. ARGV: key, process, lease ms, '1' when the waits are all
 * that there are (else differences), then three lists with their length before them: calls that ended, as lease, result, wait that was asked for
 * (or -1), tokens (or -1); leases held on to; and waits as party, count, slots, calls per minute, tokens per minute (0: unlimited), tokens of one.
 * Answers the ms after which to come again, the index of the reason, the ms of refusals, then the leases given to this process. The rules are those
 * of pace.ts and inProcessGates.ts.
 */
export const syncScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local slots, waits, alive, turns = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local me, leaseMs = ARGV[2], tonumber(ARGV[3])
local at = 5
local function arg() at = at + 1; return ARGV[at - 1] end
local function num() return tonumber(arg()) end

local pace, isPaceNew = {}, false
local known = redis.call('HGETALL', KEYS[5])
for i = 1, #known, 2 do pace[known[i]] = tonumber(known[i + 1]) end
local function rescale(kind, limit)
  local at, before = pace[kind] or 0, pace[kind .. 'PerMinute']
  if before ~= limit then
    if at > now and before then pace[kind] = now + (at - now) * before / limit end
    pace[kind .. 'PerMinute'] = limit
    isPaceNew = true
  end
  return pace[kind] or 0
end
local function use(kind, limit, amount)
  if limit == 0 then return end
  pace[kind] = math.max(rescale(kind, limit), now - ${togetherMs}) + amount * ${60_000 + togetherMs} / limit
  isPaceNew = true
end

local function ended(lease, result, askedMs, tokens, inFlight)
  if tokens >= 0 and pace.tokens and pace.tokensPerMinute then
    local reserved = tonumber(string.match(lease, '~([^:]*):'))
    pace.tokens = pace.tokens + (tokens - reserved) * ${60_000 + togetherMs} / pace.tokensPerMinute
    isPaceNew = true
  end
  if result == 'ok' and (pace.window or pace.refusedSince) then
    pace.refusals, pace.refusedSince = 0, nil
    redis.call('HDEL', KEYS[5], 'refusedSince')
    if pace.window then
      local step = 1
      if pace.window < pace.peak then step = math.max(1, pace.peak / ${rounds}) end
      pace.window = pace.window + step / pace.window
    end
    isPaceNew = true
  elseif result == 'overloaded' then
    pace.refusedSince = pace.refusedSince or now
    local startedAt = math.floor(tonumber(string.match(string.sub(lease, 37), '^%d+')) / 1000)
    if startedAt > (pace.cutAt or 0) then
      pace.peak = math.min(inFlight, pace.window or inFlight)
      pace.window = math.max(1, pace.peak * ${decrease})
      pace.cutAt = now
      pace.refusals = (pace.refusals or 0) + 1
    end
    local pauseMs = askedMs
    if askedMs < 0 then pauseMs = math.min(${longestPauseMs}, ${firstPauseMs} * 2 ^ math.min(pace.refusals - 1, 20)) end
    pace.notBefore = math.max(pace.notBefore or 0, now + pauseMs)
    isPaceNew = true
  end
end

local held = redis.call('ZCARD', slots)
for i = 1, num() do
  local lease, result, askedMs, tokens = arg(), arg(), num(), num()
  if result ~= '' then ended(lease, result, askedMs, tokens, held) end
  held = held - redis.call('ZREM', slots, lease)
end
redis.call('ZREMRANGEBYSCORE', slots, '-inf', now)
for i = 1, num() do redis.call('ZADD', slots, now + leaseMs, arg()) end
held = redis.call('ZCARD', slots)

local all, dirty = {}, {}
local stored = redis.call('HGETALL', waits)
for i = 1, #stored, 2 do
  local want = cmsgpack.unpack(stored[i + 1])
  all[stored[i]] = { count = want[1], limit = want[2], requests = want[3], tokens = want[4], each = want[5] }
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
for i = 1, num() do
  local field, count = me .. arg(), num()
  local want = all[field] or { count = 0 }
  want.count = math.max(0, want.count + count)
  want.limit, want.requests, want.tokens, want.each = num(), num(), num(), num()
  all[field] = want
  dirty[field] = true
end

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
local function before(a, b, isShort)
  if not b then return true end
  local x, y = string.sub(a, 37), string.sub(b, 37)
  if isShort and heldBy[x] ~= heldBy[y] then return heldBy[x] < heldBy[y] end
  local p, q = served['p' .. x] or 0, served['p' .. y] or 0
  if p ~= q then return p < q end
  p, q = served['f' .. a] or 0, served['f' .. b] or 0
  if p ~= q then return p < q end
  return a < b
end

local mine, others, given, comeAt, reason = {}, {}, 0, nil, 0
while true do
  local best
  for field, want in pairs(all) do
    local free = want.limit - held
    if pace.window then free = math.min(want.limit, math.floor(pace.window)) - held end
    if want.count > 0 then
      local rate = 0
      if want.requests > 0 then rate = rescale('requests', want.requests) end
      if want.tokens > 0 then rate = math.max(rate, rescale('tokens', want.tokens)) end
      local startsAt = math.max(rate, pace.notBefore or 0)
      if startsAt <= now then
        if free > 0 and before(field, best, free <= parties) then best = field end
      elseif not comeAt or startsAt < comeAt then
        if rate > (pace.notBefore or 0) then comeAt = math.max(startsAt, now + ${stepMs}); reason = 1 else comeAt = startsAt; reason = 2 end
      end
    end
  end
  if not best then break end
  comeAt, reason = nil, 0
  local process, party, want = string.sub(best, 1, 36), string.sub(best, 37), all[best]
  given = given + 1
  local lease = process .. string.format('%d%06d.%d~%.17g', time[1], time[2], given, want.each) .. ':' .. party
  redis.call('ZADD', slots, now + leaseMs, lease)
  use('requests', want.requests, 1)
  use('tokens', want.tokens, want.each)
  held = held + 1
  heldBy[party] = heldBy[party] + 1
  want.count = want.count - 1
  dirty[best] = true
  if fields > 1 then
    turn = turn + 1
    served['p' .. party] = turn
    served['f' .. best] = turn
    redis.call('HSET', turns, 'turn', turn, 'p' .. party, turn, 'f' .. best, turn)
  end
  if process == me then mine[#mine + 1] = lease else
    others[process] = others[process] or {}
    table.insert(others[process], lease)
  end
end

local isWaiting = false
for field, want in pairs(all) do
  if want.count > 0 and string.sub(field, 1, 36) == me then isWaiting = true end
  if dirty[field] then
    if want.count > 0 then
      redis.call('HSET', waits, field, cmsgpack.pack({ want.count, want.limit, want.requests, want.tokens, want.each }))
    else redis.call('HDEL', waits, field) end
  end
end
if isWaiting then redis.call('ZADD', alive, now + leaseMs, me) else redis.call('ZREM', alive, me) end
for i = 1, 4 do redis.call('PEXPIRE', KEYS[i], leaseMs * 2) end
if isPaceNew then
  local fields, last = {}, now
  for field, value in pairs(pace) do
    fields[#fields + 1] = field
    fields[#fields + 1] = string.format('%.17g', value)
  end
  redis.call('HSET', KEYS[5], unpack(fields))
end
if next(pace) then
  local busyTo = math.max(now, pace.notBefore or 0, pace.requests or 0, pace.tokens or 0)
  redis.call('PEXPIRE', KEYS[5], math.ceil(busyTo - now) + ${rememberedMs})
end
local refusedForMs = 0
if pace.refusedSince then refusedForMs = now - pace.refusedSince end
for process, leases in pairs(others) do
  redis.call('PUBLISH', '${grantsChannel('')}' .. process, cjson.encode({ ARGV[1], refusedForMs, unpack(leases) }))
end

local first = math.min(now + leaseMs, comeAt or math.huge)
for _, set in ipairs({ slots, alive }) do
  local next = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
  if next[2] and tonumber(next[2]) < first then first = tonumber(next[2]) end
end
return { math.max(1, math.ceil(first - now) + 1), reason, refusedForMs, unpack(mine) }`;
