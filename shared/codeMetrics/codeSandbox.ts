import { createHash } from 'node:crypto';
import { z } from 'zod';
import { Respawning } from '../childProcesses/respawning.ts';
import { parsedOrNothing } from '../json/parseJson.ts';
import { type CodeLanguage, languageOf } from './codeLanguage.ts';
import type { ToSandbox } from './messages.ts';
import { SandboxDied, type SandboxLimits, SandboxProcess, type UserIds } from './sandboxProcess.ts';

export interface CodeSandboxOptions extends SandboxLimits {
  isOn: boolean;
  /** Interpreters at a time, each of one project. */
  processes: number;
  /** The user whose processes those of a language are, where that is another; asked once for each, before the first. */
  user(language: CodeLanguage): UserIds;
  /** No interpreter could be started. */
  onBroken(err: unknown): void;
}

/** The description that the code of a metric gives of itself. */
const Description = z.object({
  /** Null where the code does not say: its values are then of the types that they are. */
  scoreType: z.enum(['bool', 'int', 'float', 'str']).nullable(),
  nodeTypes: z.array(z.string()).nullable(),
  aggregates: z.boolean(),
});
export type CodeDescription = z.output<typeof Description>;

const Value = z.object({
  value: z.union([z.number(), z.boolean(), z.string().max(10_000)]),
  metadata: z.record(z.string(), z.unknown()).nullable(),
});
const Outcome = z.union([Value, z.object({ none: z.literal(true) })]);
const SummedUp = z.object({
  values: z.record(z.string().max(100), z.union([z.number(), z.boolean(), z.string().max(1_000)]).nullable()),
});
export type AggregatedByCode = z.output<typeof SummedUp> | { error: string };
const Answer = z.union([z.object({ error: z.string() }), z.object({ fault: z.literal('memory') })]);
export type CodeScore = z.output<typeof Outcome> | { error: string };

/** A record as the code of a metric gets it: the keys are the names of its attributes there. */
export interface CodeRecord {
  /** A record kind: `trace`, `llm` and so on. */
  type: string;
  name: string;
  input: string | null;
  output: string | null;
  dataset_input: string | null;
  dataset_output: string | null;
  dataset_metadata: Readonly<Record<string, string>>;
  /** The cells of the dataset row, as far as they are known: its metadata, its `input`, and its reference answer as `output` and as `target`. */
  dataset_variables: Readonly<Record<string, string>>;
  user_metadata: Record<string, unknown>;
  metrics: {
    duration_ns: number | null;
    num_input_tokens: number | null;
    num_output_tokens: number | null;
    num_total_tokens: number | null;
  };
  model: string | null;
  tools: unknown;
  error_message: string | null;
  /** Those below it, at any depth, in order of their start. */
  spans: CodeRecord[];
  /** The traces of a session. */
  traces?: CodeRecord[];
  /** The values of the metrics that the code requires; of the record that is scored alone. */
  required_scores?: Readonly<Record<string, number | boolean | string | string[] | boolean[] | null>>;
}

/** Runs code that users wrote, where it reaches nothing. */
export interface CodeSandbox {
  readonly isOn: boolean;
  /** Loads the code and says what it is. @returns why it cannot be used otherwise @throws the signal's reason */
  describe(projectId: string, code: string, signal: AbortSignal): Promise<CodeDescription | { error: string }>;
  /** @throws the signal's reason */
  score(projectId: string, code: string, record: CodeRecord, signal: AbortSignal): Promise<CodeScore>;
  /** Has the `aggregator_fn` of the code sum up these values. @throws the signal's reason */
  aggregate(
    projectId: string,
    code: string,
    scores: readonly (number | boolean | string)[],
    signal: AbortSignal,
  ): Promise<AggregatedByCode>;
  close(): Promise<void>;
}

/** Milliseconds for which a project keeps an interpreter while another one waits, from when the interpreter has started. */
const SLICE_MS = 3_000;
/** Records in a row that brought their process down, after which code is not tried for so many milliseconds. */
const MAX_FAULTS = 3;
const PAUSE_MS = 60_000;
/** Pieces of code whose faults are remembered. */
const MAX_REMEMBERED = 10_000;

interface Work {
  run(process: Respawning<SandboxProcess>): Promise<void>;
  isCalledOff(): boolean;
}

/** Whose an interpreter is, and what it reads. What a project's code leaves behind in it, no other project sees. */
type Owner = `${CodeLanguage} ${string}`;

const ownerOf = (projectId: string, code: string): Owner => `${languageOf(code)} ${projectId}`;

interface Slot {
  owner: Owner;
  process: Respawning<SandboxProcess>;
  isBusy: boolean;
  /** When its interpreter had started, or a first call had ended without one; infinite before. */
  since: number;
}

const NO_INTERPRETER = 'the service could start no interpreter for it; its log says why';
export const OFF = 'metrics of code are switched off on this service (CODE_METRICS)';

export function createCodeSandbox(options: CodeSandboxOptions): CodeSandbox {
  const { isOn, processes, callMs, memoryMb, onBroken } = options;
  const slots: Slot[] = [];
  /** In the order in which they have an interpreter next: one that had its time goes behind the others. */
  const waiting = new Map<Owner, Work[]>();
  const faults = new Map<string, { count: number; reason: string; at: number }>();
  /** When the last start of a language's interpreter failed. */
  const brokenAt = new Map<CodeLanguage, number>();
  const users = new Map<CodeLanguage, UserIds>();
  const startSlice = (slot: Slot): void => {
    slot.since = Math.min(slot.since, performance.now());
  };
  /** Gives the slot to another owner, whose interpreter starts with its first call. */
  const handOver = (slot: Partial<Slot>, owner: Owner): Slot => {
    const language = owner.startsWith('python ') ? 'python' : 'javascript';
    if (!users.has(language)) users.set(language, options.user(language));
    const process = new Respawning(() => {
      const started = new SandboxProcess(language, { callMs, memoryMb }, users.get(language));
      const begins = () => {
        if (handed.process === process) startSlice(handed);
      };
      started.ready.then(begins, begins);
      return started;
    });
    const handed = Object.assign(slot, { owner, process, isBusy: slot.isBusy ?? false, since: Number.POSITIVE_INFINITY });
    return handed;
  };

  const next = (owner: Owner): Work | undefined => {
    const queue = waiting.get(owner);
    const work = queue?.shift();
    if (queue?.length === 0) waiting.delete(owner);
    return work;
  };
  /** A project that waits and has no interpreter. */
  const without = (): Owner | undefined => [...waiting.keys()].find((owner) => !slots.some((slot) => slot.owner === owner));

  const begin = async (slot: Slot): Promise<void> => {
    slot.isBusy = true;
    try {
      for (;;) {
        const other = without();
        const isOver = !waiting.has(slot.owner) || performance.now() - slot.since > SLICE_MS;
        if (other !== undefined && isOver) {
          const { owner, process } = slot;
          const left = waiting.get(owner);
          if (left && waiting.delete(owner)) waiting.set(owner, left);
          handOver(slot, other);
          await process.close();
        }
        const work = next(slot.owner);
        if (!work) return;
        if (!work.isCalledOff()) await work.run(slot.process);
        startSlice(slot);
      }
    } finally {
      slot.isBusy = false;
    }
  };
  const wake = (): void => {
    const owner = without();
    if (owner !== undefined && slots.length < processes) slots.push(handOver({}, owner));
    for (const slot of slots) if (!slot.isBusy && waiting.size > 0) void begin(slot);
  };

  const inTurn = <T>(owner: Owner, signal: AbortSignal, work: (process: Respawning<SandboxProcess>) => Promise<T>): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      signal.throwIfAborted();
      const onAbort = () => reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      const queue = waiting.get(owner) ?? [];
      waiting.set(owner, queue);
      queue.push({
        isCalledOff: () => signal.aborted,
        run: (process) =>
          work(process)
            .then(resolve, reject)
            .finally(() => signal.removeEventListener('abort', onAbort)),
      });
      wake();
    });

  /** Other code may have broken an interpreter in which it ran before: then the call is made once more, in a new one. */
  const call = async <T extends object>(
    processes: Respawning<SandboxProcess>,
    expected: z.ZodType<T>,
    code: string,
    given: Given = {},
  ): Promise<T | { error: string }> => {
    const key = createHash('sha256').update(code).digest('hex');
    const paused = faults.get(key);
    if (paused && paused.count >= MAX_FAULTS && performance.now() - paused.at < PAUSE_MS)
      return { error: `${paused.reason}; after ${MAX_FAULTS} such records in a row the next are not tried for a minute` };
    const fault = (reason: string) => {
      if (faults.size >= MAX_REMEMBERED) faults.clear();
      faults.set(key, { count: (faults.get(key)?.count ?? 0) + 1, reason, at: performance.now() });
      return { error: reason };
    };
    const language = languageOf(code);
    if (performance.now() - (brokenAt.get(language) ?? Number.NEGATIVE_INFINITY) < PAUSE_MS) return { error: NO_INTERPRETER };
    let isShared = false;
    try {
      const process = await processes.get();
      brokenAt.delete(language);
      isShared = [...process.sent].some((sent) => sent !== key);
      const answer = Answer.or(expected).safeParse(await callOnce(process, key, code, given)).data;
      if (answer === undefined || isFault(answer)) {
        await process.end();
        if (isShared) return await call(processes, expected, code, given);
        // Without an answer the code has tampered with what answers for it.
        return fault(answer ? `the metric needs more memory than ${memoryMb} MiB` : 'the metric gave no score that can be read');
      }
      faults.delete(key);
      return answer;
    } catch (err) {
      if (!(err instanceof SandboxDied)) {
        onBroken(err);
        brokenAt.set(language, performance.now());
        return { error: NO_INTERPRETER };
      }
      if (isShared && !err.isOverdue) return call(processes, expected, code, given);
      return fault(err.isOverdue ? `the metric took longer than ${callMs / 1_000} s` : 'the metric brought its process down');
    }
  };

  return {
    isOn,
    async describe(projectId, code, signal) {
      if (!isOn) return { error: OFF };
      return inTurn(ownerOf(projectId, code), signal, (processes) => call(processes, Description, code));
    },
    async score(projectId, code, record, signal) {
      if (!isOn) return { error: OFF };
      const json = JSON.stringify(record);
      return inTurn(ownerOf(projectId, code), signal, (processes) => call(processes, Outcome, code, { record: json }));
    },
    async aggregate(projectId, code, scores, signal) {
      if (!isOn) return { error: OFF };
      const json = JSON.stringify(scores);
      return inTurn(ownerOf(projectId, code), signal, (processes) => call(processes, SummedUp, code, { scores: json }));
    },
    async close() {
      await Promise.all(slots.map(({ process }) => process.close()));
    },
  };
}

/** The record or the values that the code works on, as JSON; neither where only the code is checked. */
type Given = Pick<ToSandbox, 'record' | 'scores'>;

const isFault = (answer: object): answer is { fault: 'memory' } => 'fault' in answer;

/** The code goes along where the process does not have it, or has it no more. */
async function callOnce(process: SandboxProcess, key: string, code: string, given: Given): Promise<unknown> {
  const request = { key, ...given };
  if (process.sent.has(key) && Object.keys(given).length > 0) {
    const answer = parsedOrNothing(await process.call(request));
    if (!(typeof answer === 'object' && answer !== null && 'unknown' in answer)) return answer;
  }
  process.sent.add(key);
  return parsedOrNothing(await process.call({ ...request, code }));
}
