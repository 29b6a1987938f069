import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelCall } from '../../shared/modelCalls/modelCall.ts';
import { createOutboundGuard } from '../../shared/outbound/outbound.ts';
import type { CustomConfig } from '../../shared/providers/custom.ts';
import type { Secrets } from '../../shared/providers/provider.ts';
import { customIntegration, modelCallerOver } from './modelCallers.ts';

export type HandlerStep =
  | { write: string; text: string }
  | { config: Partial<CustomConfig> & { endpoint: string }; secrets?: Secrets; call?: Partial<ModelCall>; times?: number };

export interface HandlerOutcome {
  text?: string;
  /** As JSON. */
  toolCalls?: string;
  totalTokens?: number | null;
  error?: { name: string; message: string; permanent: boolean };
  attempts: string[];
}

/** The outcome of every call of the steps, in order; `times` calls of a step are made one after the other. Handler files are in `directory`. */
export async function runHandlerSteps(directory: string, steps: HandlerStep[]): Promise<HandlerOutcome[]> {
  const guard = createOutboundGuard({ allow: [], allowLoopback: true });
  const integrations = new Map<string, ReturnType<typeof customIntegration>>();
  const callers = new Map<string, ReturnType<typeof modelCallerOver>>();
  const outcomes: HandlerOutcome[] = [];
  for (const step of steps) {
    if ('write' in step) {
      await writeFile(join(directory, step.write), step.text);
      await sleep(20);
      continue;
    }
    const key = JSON.stringify([step.config, step.secrets]);
    const integration = integrations.get(key) ?? customIntegration(step.config, step.secrets);
    integrations.set(key, integration);
    const caller = callers.get(key) ?? modelCallerOver([integration], guard, directory);
    callers.set(key, caller);
    const call: ModelCall = {
      modelAlias: 'nick',
      messages: [{ role: 'user', content: 'hello' }],
      settings: {},
      context: {},
      signal: new AbortController().signal,
      retry: { maxAttempts: 3, minDelayMs: 10, maxDelayMs: 40 },
      ...step.call,
    };
    for (let time = 0; time < (step.times ?? 1); time++)
      outcomes.push(
        await caller.complete(call).then(
          ({ text, message: { tool_calls: calls }, totalTokens, attempts }) => ({
            ...{ text, totalTokens, attempts: attempts.map((one) => one.outcome) },
            ...(calls && { toolCalls: JSON.stringify(calls) }),
          }),
          ({ name, message, permanent, attempts }) => ({
            error: { name, message, permanent },
            attempts: attempts.map((one: { outcome: string }) => one.outcome),
          }),
        ),
      );
  }
  await guard.close();
  return outcomes;
}
