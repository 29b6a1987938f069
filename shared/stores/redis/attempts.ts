import { countsOf, type LoginAttempt, type LoginAttempts, loginLimits } from '../../accounts/loginAttempts.ts';
import { inProcessAttempts } from '../../coordination/inProcessAttempts.ts';
import { LOGIN_TIMEOUT_MS, type RedisConnection } from './connect.ts';
import { redisScript } from './script.ts';

const keysOf = (attempt: LoginAttempt): string[] => {
  const { pair, account, address } = countsOf(attempt);
  return [pair, account, address].map((name) => `assay:attempts:${name}`);
};

// KEYS: the counts of account and address together, of the account, of the address; each a hash of failures and of the time (ms, by Redis's clock,
// which all processes share) of the next attempt. ARGV[1]: `look`, `begin`, `right` or `not made`; then the limits.
const script = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function nextOf(key) return tonumber(redis.call('HGET', key, 'next') or '0') end
if ARGV[1] == 'right' or ARGV[1] == 'not made' then
  if ARGV[1] == 'right' then redis.call('DEL', KEYS[1]) end
  for _, key in ipairs(KEYS) do
    if redis.call('EXISTS', key) == 1 then
      redis.call('HINCRBY', key, 'failures', -1)
      redis.call('HSET', key, 'next', 0)
    end
  end
  return 0
end
local wait = math.max(nextOf(KEYS[1]), nextOf(KEYS[3])) - now
if wait > 0 then return wait end
if ARGV[1] == 'look' then return 0 end
local pairFree, pairFreeUnderAttack, pairMs, accountFree, accountMs, addressFree, addressMs, firstWait, longestWait = unpack(ARGV, 2)
local function counted(key, windowMs)
  local failures = redis.call('HINCRBY', key, 'failures', 1)
  if redis.call('PTTL', key) < 0 then redis.call('PEXPIRE', key, windowMs) end
  return failures
end
local function slowDown(key, failures, free)
  if failures < tonumber(free) then return end
  local ms = math.min(tonumber(longestWait), firstWait * 2 ^ math.min(failures - free, 30))
  redis.call('HSET', key, 'next', string.format('%.0f', now + ms))
  if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, string.format('%.0f', ms)) end
end
local ofAccount = counted(KEYS[2], accountMs)
local ofPair = counted(KEYS[1], pairMs)
redis.call('PEXPIRE', KEYS[1], pairMs)
slowDown(KEYS[1], ofPair, ofAccount > tonumber(accountFree) and pairFreeUnderAttack or pairFree)
slowDown(KEYS[3], counted(KEYS[3], addressMs), addressFree)
return 0`;

const limits = [
  loginLimits.pairFree,
  loginLimits.pairFreeUnderAttack,
  loginLimits.pairMs,
  loginLimits.accountFree,
  loginLimits.accountMs,
  loginLimits.addressFree,
  loginLimits.addressMs,
  loginLimits.firstWaitMs,
  loginLimits.longestWaitMs,
];

/** Failed logins that several processes count through one Redis. What is counted ends by itself: no count is kept longer than an hour. */
export function redisAttempts(redis: RedisConnection): LoginAttempts {
  const run = redisScript(redis, script, LOGIN_TIMEOUT_MS);
  const alone = inProcessAttempts(Date.now);
  const ask = async (attempt: LoginAttempt, what: string, otherwise: () => Promise<number>): Promise<number> => {
    try {
      return Number(await run(keysOf(attempt), [what, ...limits]));
    } catch {
      return otherwise();
    }
  };
  return {
    waitMs: (attempt) => ask(attempt, 'look', () => alone.waitMs(attempt)),
    begin: (attempt) => ask(attempt, 'begin', () => alone.begin(attempt)),
    async takeBack(attempt, why) {
      await alone.takeBack(attempt, why); // where it was counted while Redis was away
      await ask(attempt, why, async () => 0);
    },
  };
}
