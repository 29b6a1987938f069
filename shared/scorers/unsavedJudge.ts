import { type InvalidItem, RequestInvalid } from '../errors/errors.ts';
import { newId } from '../identifiers/ids.ts';
import { isBlank } from '../wire/isBlank.ts';
import type { UnsavedJudge } from '../wire/judgeTryOut.ts';
import { fittingKinds } from './fittingKinds.ts';
import { type EnabledMetric, fromScorer, type RequiredMetric, withRequired } from './resolveMetrics.ts';
import { mustKnowPlaceholders } from './scorerAsMetric.ts';
import { mustSuitScale } from './scorerScale.ts';
import { mustNameMembers } from './templateNames.ts';

const DEFAULT_JUDGES = 3;

const refused = (loc: string[], msg: string, type: string): RequestInvalid =>
  new RequestInvalid([{ loc: ['body', ...loc], msg, type } satisfies InvalidItem]);

/**
 * The metric that a judge would be if it were saved as it is.
 * @param requires the metrics that it requires
 * @throws RequestInvalid when nothing says what the judge is to be asked, for an unknown placeholder, for names that no answer can have, and for a scale that no judge has
 */
export function unsavedJudge(
  { user_prompt, chain_poll_template: template, scorer_configuration: asked }: UnsavedJudge,
  createdBy: string,
  requires: readonly RequiredMetric[] = [],
): EnabledMetric {
  const userPrompt = isBlank(user_prompt) ? null : user_prompt;
  const text = userPrompt ?? template.template;
  if (isBlank(text)) throw refused(['user_prompt'], 'say what the judge is to be asked: user_prompt or the template', 'missing');
  mustKnowPlaceholders(
    text,
    userPrompt === null ? ['body', 'chain_poll_template', 'template'] : ['body', 'user_prompt'],
    requires.map(({ name }) => name),
  );
  const { output_type: outputType, input_type: inputType = null, model_names: models, range, categories } = asked;
  mustNameMembers(template);
  mustSuitScale({ range, categories }, outputType);
  const id = newId();
  const definition = {
    ground_truth: asked.ground_truth,
    output_type: outputType,
    ...(range ? { range } : {}),
    ...(categories ? { categories } : {}),
    ...(asked.multimodal_capabilities ? { multimodal_capabilities: asked.multimodal_capabilities } : {}),
  };
  const version = {
    id: newId(),
    scorerId: id,
    version: 0,
    definition: {
      template,
      userPrompt,
      instructions: null,
      modelName: isBlank(asked.model_alias) ? null : asked.model_alias,
      ...(models ? { modelNames: models } : {}),
      numJudges: asked.num_judges ?? models?.length ?? DEFAULT_JUDGES,
      nodeTypes: asked.scoreable_node_types.length > 0 ? asked.scoreable_node_types : fittingKinds(inputType),
      explain: asked.cot_enabled,
      outputType,
      inputType,
    },
    createdBy,
    createdAt: new Date(),
  };
  const scorer = { id, name: 'the judge that is tried out', scorerType: 'llm' as const, definition };
  const metric = fromScorer(scorer, version, { id, scorer_type: 'llm' });
  if ('problem' in metric) throw refused(['scorer_configuration'], metric.problem, 'metric_unknown');
  return withRequired(metric, requires);
}
