import type { Caller } from '../accounts/permissions.ts';
import type { AssetAccess } from '../assets/assetAccess.ts';
import { toCell } from '../datasets/cells.ts';
import { templateVariables, toExperimentRow } from '../datasets/experimentRow.ts';
import { RequestInvalid } from '../errors/errors.ts';
import { parsedOrNothing } from '../json/parseJson.ts';
import type { ModelCaller } from '../modelCalls/modelCall.ts';
import type { ResolvedModel } from '../modelCalls/models.ts';
import { TextTooLarge } from '../prompts/boundedText.ts';
import { checkPaths } from '../prompts/checkPaths.ts';
import { type PromptStore, type PromptVersion, promptSeenBy } from '../prompts/prompts.ts';
import { checkPrompt, type PromptMessage, type PromptTemplate, promptVariables, renderPrompt } from '../prompts/render.ts';
import { isObject } from '../wire/isObject.ts';
import type { PlaygroundCallRequest } from '../wire/playground.ts';
import { PromptRunSettings } from '../wire/prompts.ts';

export interface PrepareDeps {
  prompts: Pick<PromptStore, 'version'>;
  assets: Pick<AssetAccess, 'sees'>;
  models: Pick<ModelCaller, 'resolveModel' | 'unsentSettings'>;
}

/** A call of which everything is known that can be known before anything is paid. */
export interface PreparedCall {
  caller: Caller;
  projectId: string;
  messages: PromptMessage[];
  variables: Record<string, unknown>;
  unusedVariables: string[];
  /** Input of the trace: that of a dataset row with these variables. Empty where there are none. */
  input: string;
  settings: PromptRunSettings;
  unsentSettings: string[];
  resolved: ResolvedModel;
  /** The version that was named, and whether another text than its own is sent. */
  version: PromptVersion | undefined;
  isChanged: boolean;
}

/**
 * Checks a call and fills in its template, as an experiment does with a row of a dataset.
 * @throws RequestInvalid for a variable without a value, or too large a prompt; ServiceError for an unknown model or version
 */
export async function prepareCall(
  { prompts, assets, models }: PrepareDeps,
  caller: Caller,
  projectId: string,
  body: PlaygroundCallRequest,
): Promise<PreparedCall> {
  const versionId = body.prompt_template_version_id ?? undefined;
  const version = versionId === undefined ? undefined : await promptSeenBy(prompts, assets, caller, versionId);
  const template = (body.template ?? version?.template) as PromptTemplate;
  const settings = body.settings ?? version?.settings ?? PromptRunSettings.parse({});
  const variables = body.variables ?? {};
  const values = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, toCell(value)]));
  const row = toExperimentRow({ rowId: '', ordinal: 0, values });
  const given = templateVariables(row);
  await mustHaveValues(template, given);
  const resolved = await models.resolveModel(settings.model_alias, null, caller.userId);
  return {
    ...{ caller, projectId, variables, settings, resolved, version },
    messages: rendered(template, given),
    unusedVariables: unusedIn(template, Object.keys(given)),
    input: row.input,
    unsentSettings: await models.unsentSettings(settings, caller.userId),
    isChanged: version !== undefined && JSON.stringify(template) !== JSON.stringify(version.template),
  };
}

const LOC = ['body', 'variables'];

/** @throws RequestInvalid naming each variable without a value and the closest name */
async function mustHaveValues(template: PromptTemplate, given: Record<string, unknown>): Promise<void> {
  const columnNames = Object.keys(given);
  const input = typeof given.input === 'string' ? parsedOrNothing(given.input) : given.input;
  const inputFields = isObject(input) ? Object.keys(input) : [];
  checkPrompt(template, { columnNames, inputFields }, LOC);
  await checkPaths(template, { rowCount: 1, columnNames, values: async () => [given] }, LOC);
}

function rendered(template: PromptTemplate, given: Record<string, unknown>): PromptMessage[] {
  try {
    return renderPrompt(template, given);
  } catch (err) {
    if (!(err instanceof TextTooLarge)) throw err;
    const msg = `${err.message}: give a shorter template or smaller values`;
    throw new RequestInvalid([{ loc: ['body', 'template'], type: 'rendering_too_large', msg }]);
  }
}

/** Those of the given names that no variable of the template begins with. What no name begins with is a field of `input`. */
function unusedIn(template: PromptTemplate, given: readonly string[]): string[] {
  const used = new Set(
    promptVariables(template).map(
      (variable) => given.find((name) => variable === name || variable.startsWith(`${name}.`)) ?? 'input',
    ),
  );
  return given.filter((name) => !used.has(name));
}
