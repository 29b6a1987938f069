import { Link } from '@tanstack/react-router';
import type { Prompt, PromptVersion } from '../data/prompts.ts';
import page from '../dataset/DatasetPage.module.css';
import { TextDiff } from '../diff/TextDiff.tsx';
import list from '../parts/ListPage.module.css';
import { TextVersions, versionsAt } from '../parts/TextVersions.tsx';
import { Time } from '../parts/Time.tsx';
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
      <section className={page.scrolled} aria-label="Versions">
        <table className={list.table}>
          <thead>
            <tr>
              <th scope="col">Version</th>
              <th scope="col">What changed</th>
              <th scope="col" className={list.wide}>
                Model
              </th>
              <th scope="col" className={list.wide}>
                By
              </th>
              <th scope="col" className="number">
                When
              </th>
              <th scope="col">
                <span className="only-read">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {versions.map((one) => (
              <tr key={one.id} aria-current={one === version ? 'true' : undefined}>
                <td>
                  {one.version}
                  {one.version === prompt.selected_version.version && <span className="quiet"> selected</span>}
                </td>
                <td>
                  <button type="button" className="plain" onClick={() => change({ version: one.version, with: undefined })}>
                    {sumOf(one)}
                  </button>
                </td>
                <td className={`quiet ${list.wide}`}>{String(one.settings.model_alias ?? '–')}</td>
                <td className={`quiet ${list.wide}`}>{one.created_by_user?.email ?? '–'}</td>
                <td className="number">
                  <Time at={one.created_at} />
                </td>
                <td className={page.actions}>
                  <Link
                    to="/prompts/$promptId"
                    params={{ promptId: prompt.id }}
                    search={{ ...project(address.project), version: one.version }}
                  >
                    Its text
                  </Link>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
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
