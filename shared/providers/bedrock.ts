import { z } from 'zod';
import { documentedAs, orDefault } from '../wire/common.ts';
import { MultiModalConfig, ShownMultiModalConfig, Url } from '../wire/integrations.ts';
import { mapOf } from '../wire/mapOf.ts';
import { fileLimitsOf, keptFileLimits } from './addressSettings.ts';
import { awsAddress, awsAuthentication, awsSettings, keptAwsSettings, sentAwsSettings } from './awsAuthentication.ts';
import { converse } from './bedrockConverse.ts';
import { type ModelFamily, type ParameterMap, textAndImages, textOnly } from './modelFamily.ts';
import { modelPath, tokenProvider } from './provider.ts';

const MAX_PROFILES = 1_000;
const name = z.string().min(1).max(2_048);
const SentProfiles = mapOf(name, name).refine((map) => Object.keys(map).length <= MAX_PROFILES, {
  error: `at most ${MAX_PROFILES} inference profiles`,
});
documentedAs.set(SentProfiles, z.record(name, name));

const settings = { ...keptAwsSettings, multi_modal_config: ShownMultiModalConfig.nullable(), endpoint: z.string().nullable() };
/** `inference_profiles` as a list, since the database does not keep the order of a map, and the first one is the default. */
const Stored = z.object({ ...settings, inference_profiles: z.array(z.object({ model: z.string(), profile: z.string() })) });

const common: ParameterMap = {
  temperature: 'temperature',
  max_tokens: 'max_tokens',
  top_p: 'top_p',
  stop_sequences: 'stop',
  tools: 'tools',
  tool_choice: 'tool_choice',
  response_format: 'response_format',
};
const reasoning: ParameterMap = { ...common, reasoning_effort: 'reasoning_effort' };
const { temperature: _t, top_p: _p, ...adaptive } = reasoning;

// Most newer models are only called by an inference profile, whose name begins with the area that it may use: global., us., eu., apac.
const models: readonly ModelFamily[] = [
  {
    parameters: adaptive,
    modalities: textAndImages,
    names: [
      ...['global.anthropic.claude-sonnet-5-v1:0', 'global.anthropic.claude-opus-5', 'global.anthropic.claude-opus-5-5'],
      ...['global.anthropic.claude-opus-4-8-v1:0', 'global.anthropic.claude-opus-4-7-v1:0'],
      ...['global.anthropic.claude-fable-5-1-v1:0', 'global.anthropic.claude-fable-5-v1:0'],
    ],
  },
  {
    parameters: reasoning,
    modalities: textAndImages,
    names: ['global.anthropic.claude-opus-4-6-v1:0', 'global.anthropic.claude-sonnet-4-6-v1:0', 'global.amazon.nova-2-lite-v1:0'],
  },
  {
    parameters: common,
    modalities: textAndImages,
    names: [
      ...['global.anthropic.claude-sonnet-4-5-20250929-v1:0', 'global.anthropic.claude-haiku-4-5-20251001-v1:0'],
      ...['global.anthropic.claude-opus-4-5-v1:0', 'global.anthropic.claude-sonnet-4-20250514-v1:0'],
      ...['amazon.nova-pro-v1:0', 'amazon.nova-lite-v1:0', 'amazon.nova-premier-v1:0'],
      ...['mistral.mistral-large-3-675b-instruct', 'mistral.pixtral-large-2502-v1:0'],
    ],
  },
  { parameters: reasoning, modalities: textOnly, names: ['openai.gpt-oss-120b-1:0', 'openai.gpt-oss-20b-1:0'] },
  {
    parameters: common,
    modalities: textOnly,
    names: [
      ...['amazon.nova-micro-v1:0', 'meta.llama3-3-70b-instruct-v1:0', 'meta.llama3-1-8b-instruct-v1:0'],
      ...['qwen.qwen3-32b-v1:0', 'qwen.qwen3-coder-30b-a3b-v1:0', 'mistral.ministral-3-8b-instruct', 'deepseek.r1-v1:0'],
      ...['writer.palmyra-x5-v1:0', 'nvidia.nemotron-super-3-120b:0'],
    ],
  },
];
const ownNames = models.flatMap(({ names }) => names);

/** Models of many makers in a user's AWS account: https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference.html */
export const bedrock = tokenProvider({
  name: 'aws_bedrock',
  label: 'AWS Bedrock',
  sent: z.object({
    ...sentAwsSettings,
    multi_modal_config: MultiModalConfig.nullish(),
    inference_profiles: orDefault(SentProfiles, {}),
    endpoint: Url.nullish(),
  }),
  stored: Stored,
  shown: z.object({ ...settings, inference_profiles: z.record(z.string(), z.string()) }),
  toStored(sent) {
    const { multi_modal_config, inference_profiles, endpoint } = sent;
    return {
      ...awsSettings(sent),
      multi_modal_config: keptFileLimits(multi_modal_config),
      inference_profiles: Object.entries(inference_profiles).map(([model, profile]) => ({ model, profile })),
      endpoint: endpoint ?? null,
    };
  },
  toShown: ({ inference_profiles, ...stored }) => ({
    ...stored,
    inference_profiles: Object.fromEntries(inference_profiles.map(({ model, profile }) => [model, profile])),
  }),
  addresses: ({ endpoint, sts_endpoint }) => ({ endpoint, sts_endpoint: sts_endpoint ?? null }),
  connect(stored, { token = '' }) {
    const { region, endpoint, multi_modal_config } = stored;
    const base = endpoint ?? awsAddress('bedrock-runtime', region);
    return {
      endpoint: base,
      addressOf: (model, _settings, isStreamed) => modelPath(base, ['model', model, isStreamed ? 'converse-stream' : 'converse']),
      authentication: awsAuthentication('bedrock', stored, token),
      protocolOf: () => converse,
      ...{ headers: {}, contextHeaders: {}, handler: null, fileLimits: fileLimitsOf(multi_modal_config) },
    };
  },
  models,
  hosting: {
    modelsOf: 'aws_bedrock',
    // The profiles first: an integration that names some wants those.
    deployments: ({ inference_profiles }) => [
      ...inference_profiles.map(({ model, profile }) => ({ alias: model, model, deployment: profile })),
      ...ownNames
        .filter((own) => !inference_profiles.some(({ model }) => model === own))
        .map((own) => ({ alias: own, model: own, deployment: own })),
    ],
    statesDefault: () => false,
  },
});
