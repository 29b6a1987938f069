import { assertFree } from '../../shared/childProcesses/freePort.ts';

/**
 * Below the ports that the service takes for itself and systems give to others. The runner numbers the processes in which test files run at the same
 * time from one: each has ports of its own, and gives none twice.
 */
const PER_PROCESS = 2_000;
const first = 12_000 + PER_PROCESS * ((Number(process.env.VITEST_POOL_ID ?? 1) - 1) % 4);
let given = Math.floor(Math.random() * PER_PROCESS);

/** A port for a server that a test starts, maybe more than once: no other test file takes it in between. */
export async function ownPort(): Promise<number> {
  for (let tries = 1; ; tries++) {
    const port = first + (given++ % PER_PROCESS);
    try {
      await assertFree(port);
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || tries === PER_PROCESS) throw error;
    }
  }
}
