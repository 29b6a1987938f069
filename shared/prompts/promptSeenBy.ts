import type { Caller } from '../accounts/permissions.ts';
import type { AssetAccess } from '../assets/assetAccess.ts';
import { findPromptVersion, noPromptVersion, type PromptStore, type PromptVersion } from './prompts.ts';

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
