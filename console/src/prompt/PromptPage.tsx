import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { may } from '../data/assets.ts';
import { deletePromptLater } from '../data/deletions.ts';
import { type Prompt, promptQuery, renamePrompt } from '../data/prompts.ts';
import page from '../dataset/DatasetPage.module.css';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { NewNamed } from '../parts/NewNamed.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import { StartLink } from '../parts/StartLink.tsx';
import { Tabs } from '../parts/Tabs.tsx';
import { Time } from '../parts/Time.tsx';
import { UsesIn } from '../parts/UsesIn.tsx';
import { useTitle } from '../parts/useTitle.ts';
import { PromptText } from './PromptText.tsx';
import { PromptVersions } from './PromptVersions.tsx';
import { usePromptAddress } from './usePromptAddress.ts';

/** One prompt: its text, its versions and what uses it. */
export function PromptPage() {
  const { promptId, address, change } = usePromptAddress();
  const { data: prompt, error, refetch } = useQuery(promptQuery(promptId));
  useTitle(prompt?.name ?? 'Prompt');
  if (error && !prompt) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!prompt) return <LoadingNote what="the prompt" />;
  const tab = address.tab ?? 'text';
  return (
    <div className={page.page}>
      <Head prompt={prompt} />
      <div className={page.tabs}>
        <Tabs
          label="Of the prompt"
          tabs={[
            ['text', 'Text'],
            ['versions', 'Versions'],
            ['uses', 'Used by'],
          ]}
          chosen={tab}
          onChoose={(next) => change({ tab: next === 'text' ? undefined : next, version: undefined, with: undefined })}
        >
          <div className={page.body}>
            {tab === 'text' && <PromptText key={prompt.id} prompt={prompt} />}
            {tab === 'versions' && <PromptVersions prompt={prompt} />}
            {tab === 'uses' &&
              (address.project === undefined ? (
                <p className="quiet">Open the prompt from a project, and its experiments are here.</p>
              ) : (
                <UsesIn projectId={address.project} name="Of this project" by="prompt_template_id" id={prompt.id} />
              ))}
          </div>
        </Tabs>
      </div>
    </div>
  );
}

function Head({ prompt }: { prompt: Prompt }) {
  const { address } = usePromptAddress();
  const navigate = useNavigate();
  const remove = () => {
    deletePromptLater(prompt);
    void (address.project === undefined
      ? navigate({ to: '/' })
      : navigate({ to: '/p/$projectId/prompts', params: { projectId: address.project }, search: {} }));
  };
  return (
    <div className={page.head}>
      <div className={page.title}>
        <h1>{prompt.name}</h1>
        <p className="quiet">
          {address.project !== undefined && (
            <>
              <Link to="/p/$projectId/prompts" params={{ projectId: address.project }} search={{}}>
                Prompts
              </Link>
              {' · '}
            </>
          )}
          version {prompt.selected_version.version} of {prompt.total_versions} selected · changed <Time at={prompt.updated_at} />
          {prompt.created_by_user && ` · made by ${prompt.created_by_user.email}`}
        </p>
      </div>
      {address.project !== undefined && (
        <StartLink
          projectId={address.project}
          search={{ prompt: prompt.id, version: address.version ?? prompt.selected_version.version }}
          label="Run this version on a dataset"
        />
      )}
      {may(prompt, 'update') && (
        <NewNamed
          title="Rename"
          action="Rename"
          className=""
          name={prompt.name}
          onName={(name) => renamePrompt(prompt.id, name)}
        />
      )}
      {may(prompt, 'delete') && (
        <button type="button" className="bad" onClick={remove}>
          Delete
        </button>
      )}
    </div>
  );
}
