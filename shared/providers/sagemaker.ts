import { z } from 'zod';
import { RequestInvalid } from '../errors/errors.ts';
import { orDefault } from '../wire/common.ts';
import { MultiModalConfig, ShownMultiModalConfig, Url } from '../wire/integrations.ts';
import { fileLimitsOf, keptFileLimits } from './addressSettings.ts';
import { awsAddress, awsAuthentication, awsSettings, keptAwsSettings, sentAwsSettings } from './awsAuthentication.ts';
import { modelPath, tokenProvider } from './provider.ts';
import { sagemakerChat } from './sagemakerChat.ts';

const MAX_MODELS = 1_000;
const name = z.string().min(1).max(512);
const Model = z.object({ name, alias: name });

const Kept = z.object({
  ...keptAwsSettings,
  multi_modal_config: ShownMultiModalConfig.nullable(),
  models: z.array(z.object({ name: z.string(), alias: z.string() })),
  endpoint: z.string().nullable(),
});

/** Endpoints of a user's AWS account whose containers speak OpenAI's protocol: https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_InvokeEndpoint.html */
export const sagemaker = tokenProvider({
  name: 'aws_sagemaker',
  label: 'AWS SageMaker',
  sent: z.object({
    ...sentAwsSettings,
    multi_modal_config: MultiModalConfig.nullish(),
    models: orDefault(z.array(Model).max(MAX_MODELS), []),
    inference_profiles: z.record(z.string(), z.string()).nullish(),
    endpoint: Url.nullish(),
  }),
  stored: Kept,
  shown: Kept,
  toStored(sent) {
    const { multi_modal_config, models, inference_profiles, endpoint } = sent;
    const wrong = (field: string, msg: string) => new RequestInvalid([{ loc: ['body', field], msg, type: 'value_error' }]);
    if (Object.keys(inference_profiles ?? {}).length > 0)
      throw wrong('inference_profiles', 'inference_profiles are those of aws_bedrock: name the endpoints of SageMaker in models');
    const twice = models.find(({ alias }, index) => models.findIndex((other) => other.alias === alias) !== index);
    if (twice) throw wrong('models', `two models have the alias "${twice.alias}"`);
    return {
      ...{ ...awsSettings(sent), models },
      multi_modal_config: keptFileLimits(multi_modal_config),
      endpoint: endpoint ?? null,
    };
  },
  toShown: (stored) => stored,
  addresses: ({ endpoint, sts_endpoint }) => ({ endpoint, sts_endpoint: sts_endpoint ?? null }),
  connect(stored, { token = '' }) {
    const { region, endpoint, multi_modal_config } = stored;
    const base = endpoint ?? awsAddress('runtime.sagemaker', region);
    return {
      endpoint: base,
      addressOf: (model, _settings, isStreamed) =>
        modelPath(base, ['endpoints', model, isStreamed ? 'invocations-response-stream' : 'invocations']),
      authentication: awsAuthentication('sagemaker', stored, token),
      protocolOf: () => sagemakerChat,
      mayRatePrompts: true,
      ...{ headers: {}, contextHeaders: {}, handler: null, fileLimits: fileLimitsOf(multi_modal_config) },
    };
  },
  models: [],
  hosting: {
    modelsOf: 'aws_sagemaker',
    deployments: ({ models }) => models.map(({ name: deployment, alias }) => ({ alias, model: deployment, deployment })),
    statesDefault: () => false,
  },
});
