import { isDeepStrictEqual } from 'node:util';
import type { PageOf } from '../accounts/accountStore.ts';
import type { Caller } from '../accounts/permissions.ts';
import type { AssetAccess, AssetViewer } from '../assets/assetAccess.ts';
import { ServiceError } from '../errors/errors.ts';
import { freeName, nameStem } from '../identifiers/freeName.ts';
import { newId } from '../identifiers/ids.ts';
import type { PageRequest } from '../wire/common.ts';
import type { UserInfo } from '../wire/datasets.ts';
import type { CreateVersionRequest, PromptRunSettings, TemplateFilter, TemplateSort, VersionSort } from '../wire/prompts.ts';
import type { PromptTemplate } from './render.ts';

/** One version of a prompt: what a run uses, and what never changes. */
export interface PromptVersion {
  id: string;
  templateId: string;
  /** Name of the template it belongs to. */
  name: string;
  version: number;
  template: PromptTemplate;
  raw: boolean;
  settings: PromptRunSettings;
  outputType: string | null;
  modelChanged: boolean;
  settingsChanged: boolean;
  contentChanged: boolean;
  createdAt: string;
  updatedAt: string;
  createdBy: UserInfo;
}

export interface Prompt {
  id: string;
  name: string;
  selectedVersion: number;
  /** In order of their numbers. */
  versions: PromptVersion[];
  createdAt: string;
  updatedAt: string;
  createdBy: UserInfo;
}

export type NewPromptVersion = Pick<
  PromptVersion,
  'id' | 'template' | 'raw' | 'settings' | 'outputType' | 'modelChanged' | 'settingsChanged' | 'contentChanged'
>;

export interface PromptStore {
  /** Stores a prompt with its version 1, selected. @throws ServiceError `Conflict` when the name is taken. */
  insert(
    prompt: { id: string; name: string; hidden: boolean; projectId: string | undefined; userId: string },
    first: NewPromptVersion,
  ): Promise<void>;
  find(id: string): Promise<Prompt | undefined>;
  /** Exact name, among the prompts of a project where one is given. */
  findByName(name: string, projectId?: string): Promise<Prompt | undefined>;
  query(query: {
    viewer: AssetViewer;
    filters: readonly TemplateFilter[];
    sort: TemplateSort | null;
    page: PageRequest;
  }): Promise<PageOf<Prompt>>;
  count(query: { viewer: AssetViewer; filters: readonly TemplateFilter[] }): Promise<number>;
  versions(promptId: string, sort: VersionSort | null, page: PageRequest): Promise<PageOf<PromptVersion>>;
  /** By its id, of a deleted prompt too: a run that uses a version keeps it. */
  version(versionId: string): Promise<PromptVersion | undefined>;
  /** Numbers and stores the next version; false when the prompt is gone or another version came first. */
  addVersion(promptId: string, after: number, userId: string, version: NewPromptVersion): Promise<boolean>;
  /** False when there is no such version. */
  select(promptId: string, version: number): Promise<boolean>;
  /** @throws ServiceError `Conflict` when the name is taken. */
  rename(promptId: string, name: string): Promise<void>;
  /** Hides the prompt and frees its name. False when there is none. */
  remove(promptId: string): Promise<boolean>;
  /** Names that start with `prefix`, of what the viewer sees. */
  namesFrom(prefix: string, viewer: AssetViewer): Promise<string[]>;
  isInProject(promptId: string, projectId: string): Promise<boolean>;
}

/** The version that an experiment names. @throws ServiceError `NotFound` */
export async function findPromptVersion(prompts: Pick<PromptStore, 'version'>, versionId: string): Promise<PromptVersion> {
  const version = await prompts.version(versionId);
  if (!version) throw noPromptVersion(versionId);
  return version;
}

export const noPromptVersion = (versionId: string): ServiceError =>
  new ServiceError('NotFound', `there is no prompt version ${versionId}`);

/** A version of a prompt that the caller sees. @throws ServiceError `NotFound` for any other, as for one that is not there */
export async function promptSeenBy(
  prompts: Pick<PromptStore, 'version'>,
  assets: Pick<AssetAccess, 'sees'>,
  caller: Caller,
  versionId: string,
): Promise<PromptVersion> {
  const version = await findPromptVersion(prompts, versionId);
  if (!(await assets.sees(caller, 'prompt', version.templateId))) throw noPromptVersion(versionId);
  return version;
}

/** A version by the prompt's name: the selected one without a number. @throws ServiceError `NotFound` */
export async function findPromptVersionByName(
  prompts: Pick<PromptStore, 'findByName'>,
  { name, version, projectId }: { name: string; version?: number | undefined; projectId?: string | undefined },
): Promise<PromptVersion> {
  const prompt = await prompts.findByName(name, projectId);
  if (!prompt) throw new ServiceError('NotFound', `there is no prompt named "${name}"${projectId ? ' in this project' : ''}`);
  return versionOf(prompt, version ?? prompt.selectedVersion);
}

/** @throws ServiceError `NotFound` */
export async function foundPrompt(prompts: PromptStore, id: string): Promise<Prompt> {
  const prompt = await prompts.find(id);
  if (!prompt) throw new ServiceError('NotFound', `there is no prompt template ${id}`);
  return prompt;
}

/** @throws ServiceError `NotFound` */
export function versionOf(prompt: Prompt, number: number): PromptVersion {
  const version = prompt.versions.find((one) => one.version === number);
  if (!version) throw new ServiceError('NotFound', `prompt template ${prompt.id} has no version ${number}`);
  return version;
}

export interface CreatePrompt {
  name: string;
  /** A taken name gets a suffix instead of an error. */
  appendSuffix: boolean;
  hidden: boolean;
  /** The project that it belongs to; undefined: it is the organization's. */
  projectId: string | undefined;
  userId: string;
  /** Its name must differ from those that its author sees. */
  viewer: AssetViewer;
  version: CreateVersionRequest;
}

/** A new prompt with its version 1, selected. @throws ServiceError `Conflict` when the name is taken. */
export async function createPrompt(prompts: PromptStore, input: CreatePrompt): Promise<Prompt> {
  const id = newId();
  const name = await freePromptName(prompts, input.viewer, input.name, input.appendSuffix);
  try {
    await prompts.insert({ ...input, id, name }, changesSince(undefined, input.version));
  } catch (err) {
    // Taken by another request since it was looked up: with a suffix asked for that is no error.
    if (!input.appendSuffix || !(err instanceof ServiceError) || err.code !== 'Conflict') throw err;
    return createPrompt(prompts, input);
  }
  return foundPrompt(prompts, id);
}

/** The next version of a prompt; it is not selected by this. */
export async function addPromptVersion(
  prompts: PromptStore,
  promptId: string,
  request: CreateVersionRequest,
  userId: string,
): Promise<PromptVersion> {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const prompt = await foundPrompt(prompts, promptId);
    const newest = prompt.versions.at(-1);
    const next = changesSince(newest, request);
    if (await prompts.addVersion(promptId, newest?.version ?? 0, userId, next)) return findPromptVersion(prompts, next.id);
  }
  throw new ServiceError('Conflict', 'the prompt is being changed by too many writers at once; try again');
}

function changesSince(
  previous: PromptVersion | undefined,
  { template, raw, settings, output_type }: CreateVersionRequest,
): NewPromptVersion {
  const { model_alias: newModel, ...newSettings } = settings;
  const { model_alias: oldModel, ...oldSettings } = previous?.settings ?? settings;
  return {
    id: newId(),
    template: template as PromptTemplate,
    raw,
    settings,
    outputType: output_type ?? null,
    modelChanged: newModel !== oldModel,
    settingsChanged: !isDeepStrictEqual(newSettings, oldSettings),
    contentChanged: previous !== undefined && !isDeepStrictEqual(template, previous.template),
  };
}

/** The name, or a free one like it. @throws ServiceError `Conflict` */
export async function freePromptName(
  prompts: Pick<PromptStore, 'namesFrom'>,
  viewer: AssetViewer,
  name: string,
  appendSuffix: boolean,
  except?: string,
): Promise<string> {
  return freeName(await prompts.namesFrom(nameStem(name), viewer), { what: 'prompt template', name, appendSuffix, except });
}
