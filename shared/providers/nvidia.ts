import { z } from 'zod';
import { Url } from '../wire/integrations.ts';
import { chat, type ParameterMap, textAndImages, textOnly } from './modelFamily.ts';
import { bearerConnection, tokenProvider, withPath } from './provider.ts';

const reasoning: ParameterMap = { ...chat, reasoning_effort: 'reasoning_effort' };

const Settings = z.object({ hostname: z.string() });

/** NVIDIA's own service, `https://integrate.api.nvidia.com`, or a NIM container: https://docs.nvidia.com/nim/large-language-models/latest/api-reference.html */
export const nvidia = tokenProvider({
  name: 'nvidia',
  label: 'NVIDIA',
  sent: z.object({ hostname: Url }),
  stored: Settings,
  shown: Settings,
  toStored: ({ hostname }) => ({ hostname }),
  toShown: (stored) => stored,
  addresses: ({ hostname }) => ({ hostname }),
  connect: ({ hostname }, secrets) => ({ ...bearerConnection(withPath(hostname, '/v1'), secrets), mayRatePrompts: true }),
  models: [
    {
      parameters: chat,
      modalities: textOnly,
      names: [
        ...['meta/llama-3.3-70b-instruct', 'meta/llama-3.1-8b-instruct', 'meta/llama-3.1-70b-instruct'],
        ...['nvidia/llama-3.3-nemotron-super-49b-v1.5', 'nvidia/llama-3.1-nemotron-ultra-253b-v1'],
        ...['nvidia/nvidia-nemotron-nano-9b-v2', 'nvidia/nemotron-3-nano-30b-a3b'],
        ...['qwen/qwen3-next-80b-a3b-instruct', 'deepseek-ai/deepseek-v3.1', 'moonshotai/kimi-k2-instruct'],
      ],
    },
    {
      parameters: chat,
      modalities: textAndImages,
      names: ['meta/llama-4-maverick-17b-128e-instruct', 'nvidia/nemotron-nano-12b-v2-vl'],
    },
    { parameters: reasoning, modalities: textOnly, names: ['openai/gpt-oss-120b', 'openai/gpt-oss-20b'] },
  ],
});
