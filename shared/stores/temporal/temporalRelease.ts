/** The release that tools/temporal/go.mod pins; a test holds the two equal. */
export const temporalVersion = '1.5.1';

export interface TemporalRelease {
  /** Below it, the archive of a platform is at `/v<version>/<name of the archive>`. */
  downloads: string;
  /** SHA-256 of each archive by its name, in hexadecimal. Nothing else is unpacked or run. */
  sha256: Readonly<Record<string, string>>;
}

/** The archives that Temporal publishes with the release. A build needs no such list: Go checks every module against tools/temporal/go.sum. */
export const temporalRelease: TemporalRelease = {
  downloads: 'https://github.com/temporalio/cli/releases/download',
  sha256: {
    'temporal_cli_1.5.1_linux_amd64.tar.gz': 'ddc95e08b0b076efd4ea9733a3f488eb7d2be875f8834e616cd2a37358b4852d',
    'temporal_cli_1.5.1_linux_arm64.tar.gz': 'bd1b0db9f18b051026de8bf6cc1505f2510f14bbb7a8b9a4a91fff46c77454f5',
    'temporal_cli_1.5.1_darwin_amd64.tar.gz': 'bbb73e2a31135abe50a1f1cdb35030c42961df618e8ce9c60ae89f201540c5d9',
    'temporal_cli_1.5.1_darwin_arm64.tar.gz': 'cca01b7ea35ad56e2a328d9ae596bf716bd22313ef63c7a761c88354457c2415',
  },
};

/** The name of the archive for a platform and an architecture as Node names them. */
export const temporalArchive = (platform: string, arch: string): string =>
  `temporal_cli_${temporalVersion}_${platform}_${arch === 'x64' ? 'amd64' : arch}.tar.gz`;
