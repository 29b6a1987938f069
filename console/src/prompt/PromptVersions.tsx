import { Link } from '@tanstack/react-router';
import type { Prompt, PromptVersion } from '../data/prompts.ts';
import { TextDiff } from '../diff/TextDiff.tsx';
import { TextVersions, versionsAt } from '../parts/TextVersions.tsx';
import { VersionTable } from '../parts/VersionTable.tsx';
import { settingsThatDiffer, textOf } from './promptText.ts';
import { usePromptAddress } from './usePromptAddress.ts';

/** The versions of a prompt, newest first, and the words that differ between the two that the address names. */
export function PromptVersions({ prompt }: { prompt: Prompt }) {
  const { address, change } = usePromptAddress();
  const versions = prompt.all_versions.toSorted((a, b) => b.version - a.version);
  const { version, before } = versionsAt(versions, address);
  const settings = version && before && settingsThatDiffer(before, version);
  return (
    <>
      {version && (
        <TextVersions {...{ versions, version, before, textOf, change }}>
          {settings && settings[0] !== settings[1] && (
            <TextDiff before={settings[0]} after={settings[1]} labels={{ before: 'settings before', after: 'settings after' }} />
          )}
        </TextVersions>
      )}
      <VersionTable
        versions={versions}
        numberOf={(one) => one.version}
        current={version?.version}
        mark={(one) => (one.version === prompt.selected_version.version ? 'selected' : undefined)}
        columns={[
          {
            name: 'What changed',
            cell: (one) => (
              <button type="button" className="plain" onClick={() => change({ version: one.version, with: undefined })}>
                {sumOf(one)}
              </button>
            ),
          },
          { name: 'Model', kind: 'wide', cell: (one) => String(one.settings.model_alias ?? '–') },
          { name: 'By', kind: 'wide', cell: (one) => one.created_by_user?.email ?? '–' },
        ]}
        actions={(one) => (
          <Link
            to="/prompts/$promptId"
            params={{ promptId: prompt.id }}
            search={{ ...project(address.project), version: one.version }}
          >
            Its text
          </Link>
        )}
      />
    </>
  );
}

const project = (id: string | undefined) => (id === undefined ? {} : { project: id });

function sumOf(one: PromptVersion): string {
  if (one.version === 1) return 'the first';
  const parts = [
    one.content_changed ? 'text' : '',
    one.model_changed ? 'model' : '',
    one.settings_changed ? 'settings' : '',
  ].filter((part) => part !== '');
  return parts.length > 0 ? parts.join(', ') : 'nothing';
}
