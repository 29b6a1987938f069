import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { AssetAddress, AssetListAddress } from '../address/assetAddress.ts';
import { withoutEmpty } from '../address/parameters.ts';

const listFrom = '/signed in/p/$projectId/prompts';

/** The address of the list of prompts, and how to change it. Typing replaces, choosing is a step of the history. */
export function usePromptsAddress() {
  const { projectId } = useParams({ from: listFrom });
  const address = useSearch({ from: listFrom });
  const navigate = useNavigate({ from: '/p/$projectId/prompts' });
  const change = (changed: AssetListAddress, replace = false) =>
    void navigate({ search: (before) => withoutEmpty({ ...before, ...changed }), replace, resetScroll: false });
  return { projectId, address, change };
}

const from = '/signed in/prompts/$promptId';

/** The address of a prompt, and how to change it. */
export function usePromptAddress() {
  const { promptId } = useParams({ from });
  const address = useSearch({ from });
  const navigate = useNavigate({ from: '/prompts/$promptId' });
  const change = (changed: AssetAddress, replace = false) =>
    void navigate({ search: (before) => withoutEmpty({ ...before, ...changed }), replace, resetScroll: false });
  return { promptId, address, change };
}
