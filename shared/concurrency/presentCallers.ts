/** Milliseconds after an answer in which its caller still counts as present: callers send several requests one after the other. */
const LINGER_MS = 100;

/** How many requests of a caller are under way, and until when it counts as there without any. */
interface Presence {
  requests: number;
  until: number;
}

const present = new Map<string, Presence>();

/** Does the work of a request; meanwhile, and a moment longer, its caller is present in this process. */
export async function whilePresent<T>(caller: string, work: () => Promise<T>): Promise<T> {
  const presence = present.get(caller) ?? { requests: 0, until: 0 };
  present.set(caller, presence);
  presence.requests++;
  try {
    return await work();
  } finally {
    presence.requests--;
    presence.until = performance.now() + LINGER_MS;
  }
}

/** Returns whether anybody but this caller is present. */
export function othersArePresent(caller: string | undefined): boolean {
  const now = performance.now();
  for (const [one, { requests, until }] of present) {
    if (requests === 0 && until < now) present.delete(one);
    else if (one !== caller) return true;
  }
  return false;
}
