import type { z } from 'zod';
import { mayOnAsset, type ProjectRole } from '../../shared/accounts/permissions.ts';
import { type Prompt, type PromptVersion, versionOf } from '../../shared/prompts/prompts.ts';
import type { TemplateResponse, TemplateVersionResponse } from '../../shared/wire/prompts.ts';

const promptActions = ['update', 'delete', 'share'] as const;

/** A template with all of its versions, and what a caller with this role may do with it. */
export function toTemplate(prompt: Prompt, role: ProjectRole | undefined): z.output<typeof TemplateResponse> {
  const selected = versionOf(prompt, prompt.selectedVersion);
  const numbers = prompt.versions.map(({ version }) => version);
  return {
    id: prompt.id,
    permissions: promptActions.map((action) => ({
      action,
      allowed: role !== undefined && mayOnAsset(role, action),
      message: null,
    })),
    name: prompt.name,
    template: typeof selected.template === 'string' ? selected.template : JSON.stringify(selected.template),
    selected_version: toTemplateVersion(selected),
    selected_version_id: selected.id,
    all_versions: prompt.versions.map(toTemplateVersion),
    all_available_versions: numbers,
    total_versions: numbers.length,
    max_version: Math.max(...numbers),
    created_at: prompt.createdAt,
    updated_at: prompt.updatedAt,
    created_by_user: prompt.createdBy,
  };
}

/** Line counts are deprecated in the interface and always 0. */
export function toTemplateVersion(version: PromptVersion): z.output<typeof TemplateVersionResponse> {
  return {
    template: version.template,
    raw: version.raw,
    version: version.version,
    settings: version.settings,
    output_type: version.outputType,
    id: version.id,
    model_changed: version.modelChanged,
    lines_added: 0,
    lines_edited: 0,
    lines_removed: 0,
    settings_changed: version.settingsChanged,
    content_changed: version.contentChanged,
    created_at: version.createdAt,
    updated_at: version.updatedAt,
    created_by_user: version.createdBy,
  };
}
