import { log } from '../client/index.ts';
import { calculate } from './calculate.ts';
import { STAND_IN, type StandInModel } from './standInModel.ts';

interface Completion {
  choices: { message: { role: string; content: string }; finish_reason: string }[];
  usage: { prompt_tokens: number; completion_tokens: number };
}

/**
 * The application under test: a small agent that has the model write an expression and lets a tool work it out. Each wrapped function becomes a
 * span of the row's trace, nested as the calls are.
 */
export function solverWith(model: StandInModel): (question: string) => Promise<string> {
  const complete = log(
    {
      kind: 'llm',
      name: 'write expression',
      model: STAND_IN,
      output: (reply: Completion) => reply.choices[0]?.message,
      describe: ({ usage, choices }: Completion) => ({
        inputTokens: usage.prompt_tokens,
        outputTokens: usage.completion_tokens,
        finishReason: choices[0]?.finish_reason ?? 'unknown',
      }),
    },
    async (messages: { role: string; content: string }[]): Promise<Completion> => {
      const response = await fetch(`${model.url}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': model.apiKey },
        body: JSON.stringify({ model: STAND_IN, messages }),
      });
      if (!response.ok) throw new Error(`the model answered ${response.status}`);
      return (await response.json()) as Completion;
    },
  );
  const useCalculator = log({ kind: 'tool', name: 'calculator' }, (expression: string) => String(calculate(expression)));

  return log({ kind: 'agent', name: 'solver' }, async (question: string) => {
    const reply = await complete([
      { role: 'system', content: 'Write one arithmetic expression that gives the answer, and nothing else.' },
      { role: 'user', content: question },
    ]);
    return useCalculator(reply.choices[0]?.message.content ?? '');
  });
}
