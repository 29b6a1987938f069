import { fc, test } from '@fast-check/vitest';
import { expect } from 'vitest';
import { WriteQueue } from '../../shared/records/writeQueue.ts';

interface Request {
  name: number;
  bytes: number;
  answer: () => void;
}

const pause = fc.integer({ min: 0, max: 4 });
const steps = fc.array(
  fc.oneof(
    fc.record({ does: fc.constant('add' as const), bytes: fc.integer({ min: 1, max: 60 }), pause }),
    fc.record({ does: fc.constant('alone' as const), fails: fc.boolean(), pause }),
  ),
  { maxLength: 25 },
);
const sleep = (ms: number) => (ms === 0 ? Promise.resolve() : new Promise<void>((resolve) => setTimeout(resolve, ms)));

test.prop([steps, fc.array(pause, { minLength: 1 }), fc.boolean()], { numRuns: 60 })(
  'groups and work that must be alone never run at the same time; every request is written once, in the order of arrival',
  async (asked, writing, givesBack) => {
    let running = 0;
    let groups = 0;
    const written: number[] = [];
    const alone = async <T>(work: () => Promise<T>): Promise<T> => {
      expect(++running).toBe(1);
      return work().finally(() => running--);
    };
    const queue = new WriteQueue<Request>({
      groupBytes: 100,
      queueBytes: 1_000_000,
      write: (group) =>
        alone(async () => {
          const [first, ...others] = group as [Request, ...Request[]];
          expect(group.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(Math.max(100, first.bytes));
          await sleep(writing[groups++ % writing.length] as number);
          // A request that cannot be written yet comes again, before those that came later.
          const later = givesBack && groups % 3 === 1 ? others : [];
          for (const one of group) {
            if (later.includes(one)) continue;
            written.push(one.name);
            one.answer();
          }
          for (const one of later.toReversed()) queue.putBack(one);
        }),
    });
    const ends: Promise<unknown>[] = [];
    for (const [name, step] of asked.entries()) {
      if (step.does === 'add') {
        const { promise, resolve } = Promise.withResolvers<void>();
        ends.push(promise);
        queue.add({ name, bytes: step.bytes, answer: resolve }, ['owner'], promise);
      } else {
        const work = () => alone(() => sleep(step.pause).then(() => (step.fails ? Promise.reject(new Error('fails')) : name)));
        const end = queue.inTurn(work);
        ends.push(step.fails ? expect(end).rejects.toThrow('fails') : expect(end).resolves.toBe(name));
      }
      await sleep(step.pause);
    }
    await Promise.all(ends);
    expect(written).toEqual(asked.flatMap(({ does }, name) => (does === 'add' ? [name] : [])));
    expect(queue.waitingBytes).toBe(0);
  },
);
