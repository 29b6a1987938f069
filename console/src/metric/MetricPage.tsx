import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';
import { may } from '../data/assets.ts';
import { deleteMetricLater } from '../data/deletions.ts';
import { changeMetric, type Metric, metricQuery } from '../data/metrics.ts';
import { projectQuery } from '../data/projects.ts';
import page from '../dataset/DatasetPage.module.css';
import { kindText } from '../metrics/metricText.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { NewNamed } from '../parts/NewNamed.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import { Tabs } from '../parts/Tabs.tsx';
import { Time } from '../parts/Time.tsx';
import { useTitle } from '../parts/useTitle.ts';
import { CheckText } from './CheckText.tsx';
import { CodeText } from './CodeText.tsx';
import { JudgeText } from './JudgeText.tsx';
import { MetricFacts } from './MetricFacts.tsx';
import { MetricVersions } from './MetricVersions.tsx';
import { useMetricAddress } from './useMetricAddress.ts';

const AgreementTab = lazy(async () => ({ default: (await import('./AgreementTab.tsx')).AgreementTab }));

const versions = ['versions', 'Versions'] as const;

/** One metric: what it needs and gives, where it is on, how far it agrees with people, and its versions with their prompt or source. */
export function MetricPage() {
  const { projectId, metricId, address, change } = useMetricAddress();
  const project = useQuery(projectQuery(projectId));
  const found = useQuery({ ...metricQuery(projectId, metricId), enabled: project.data !== undefined });
  const metric = found.data;
  useTitle(metric?.label ?? 'Metric');
  // Built-in metrics are not shown to users who do not see the project.
  const failure = project.error ?? (metric ? null : found.error);
  if (failure) return <ErrorNote error={failure} onRetry={() => void (project.error ? project.refetch() : found.refetch())} />;
  if (!metric) return <LoadingNote what="the metric" />;
  const isJudge = metric.scorer_type === 'llm';
  const hasVersions = isJudge || isCode(metric);
  const tab = address.tab === 'versions' && !hasVersions ? 'about' : (address.tab ?? 'about');
  const facts = <MetricFacts key={metric.id} metric={metric} projectId={projectId} />;
  return (
    <div className={page.page}>
      <Head metric={metric} projectId={projectId} />
      <div className={page.tabs}>
        <Tabs
          label="Of the metric"
          tabs={[['about', isJudge ? 'Judge' : 'Metric'], ...(hasVersions ? [versions] : []), ['agreement', 'Agreement']]}
          chosen={tab}
          onChoose={(next) => change({ tab: next === 'about' ? undefined : next, version: undefined, with: undefined })}
        >
          <div className={page.body}>
            <Suspense fallback={<LoadingNote what="the metric" />}>
              {tab === 'about' && <About key={metric.id} metric={metric} facts={facts} />}
              {tab === 'versions' && <MetricVersions metric={metric} />}
              {tab === 'agreement' && <AgreementTab metric={metric} />}
            </Suspense>
          </div>
        </Tabs>
      </div>
    </div>
  );
}

/** A check is made of its fields: it has no code that a user wrote. */
const isCode = ({ scorer_type, check }: Metric): boolean => scorer_type === 'code' && !check;

function About({ metric, facts }: { metric: Metric; facts: ReactNode }) {
  if (metric.scorer_type === 'llm') return <JudgeText metric={metric} facts={facts} />;
  if (metric.check) return <CheckText metric={metric} check={metric.check} facts={facts} />;
  return isCode(metric) ? <CodeText metric={metric} facts={facts} /> : facts;
}

function Head({ metric, projectId }: { metric: Metric; projectId: string }) {
  const navigate = useNavigate();
  const remove = () => {
    deleteMetricLater({ id: metric.id, name: metric.label });
    void navigate({ to: '/p/$projectId/metrics', params: { projectId }, search: {} });
  };
  const isOwn = metric.scorer_type !== 'preset';
  return (
    <div className={page.head}>
      <div className={page.title}>
        <h1>{metric.label}</h1>
        <p className="quiet">
          <Link to="/p/$projectId/metrics" params={{ projectId }} search={{}}>
            Metrics
          </Link>
          {` · ${kindText(metric)}`}
          {isOwn && metric.updated_at ? (
            <>
              {' · changed '}
              <Time at={metric.updated_at} />
            </>
          ) : (
            ' · built in'
          )}
        </p>
      </div>
      {isOwn && may(metric, 'update') && (
        <NewNamed
          title="Rename"
          action="Rename"
          className=""
          name={metric.name}
          maxLength={255}
          onName={(name) => changeMetric(metric.id, { name })}
        />
      )}
      {isOwn && may(metric, 'delete') && (
        <button type="button" className="bad" onClick={remove}>
          Delete
        </button>
      )}
    </div>
  );
}
