import type { ReactNode } from 'react';
import { TextDiff } from '../diff/TextDiff.tsx';
import { ComparedVersions } from './ComparedVersions.tsx';

interface Numbered {
  version: number;
}

/** The numbers of the versions that an address names. */
interface VersionsAddress {
  version?: number | undefined;
  with?: number | undefined;
}

/** Finds the version that the address names, and the one that it is compared with: the one before, unless the address names another. */
export function versionsAt<V extends Numbered>(versions: readonly V[], address: VersionsAddress) {
  const find = (number: number | undefined) => versions.find(({ version }) => version === number);
  const version = find(address.version);
  return { version, before: find(address.with) ?? find((version?.version ?? 0) - 1) };
}

interface Props<V extends Numbered> {
  versions: readonly V[];
  version: V;
  /** Undefined: the version is compared with nothing. */
  before: V | undefined;
  textOf(version: V): string;
  change(address: VersionsAddress, replace?: boolean): void;
  children?: ReactNode;
}

/** Shows the words that differ between two versions of a text, below a choice of the earlier one. */
export function TextVersions<V extends Numbered>({ versions, version, before, textOf, change, children }: Props<V>) {
  return (
    <ComparedVersions
      version={version.version}
      before={before?.version ?? 0}
      others={versions.flatMap((one) => (one === version ? [] : [{ version: one.version, label: `version ${one.version}` }]))}
      onWith={(chosen) => change({ with: chosen }, true)}
      onClose={() => change({ version: undefined, with: undefined })}
    >
      <TextDiff
        before={before ? textOf(before) : ''}
        after={textOf(version)}
        labels={{ before: before ? `version ${before.version}` : 'nothing', after: `version ${version.version}` }}
      />
      {children}
    </ComparedVersions>
  );
}
