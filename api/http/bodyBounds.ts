import type { Caller } from '../../shared/accounts/permissions.ts';
import { type ByteShare, ByteShares } from '../../shared/concurrency/byteShares.ts';
import type { BodyPace } from './readBody.ts';

const MiB = 1024 * 1024;

/** Limits how much of this process the bodies of all requests may hold at a time, and how slowly each may come. */
export interface BodyBounds {
  /** Bodies that are read into memory, after decompression. */
  memory: ByteShares;
  /** Forms, which are kept in files while they are read. */
  disk: ByteShares;
  pace: BodyPace;
  /** Milliseconds between two looks at whether the rest of a refused body still comes; absent: as long as suits networks. */
  lingerMs?: number | undefined;
}

/** The values made of a body take about three times its bytes. */
const MEMORY_MB = 192;
/** Eight forms of the largest size; one account has four of them at a time. */
const DISK_BYTES = 1024 * MiB;
/** Milliseconds that are long beside a pause of the network, and short beside what waits for the bytes that are held meanwhile. */
const WINDOW_MS = 20_000;
const BYTES_PER_SECOND = 1_024;

export const openBodyBounds = ({
  memoryBytes = MEMORY_MB * MiB,
  bytesPerSecond = BYTES_PER_SECOND,
  windowMs = WINDOW_MS,
  lingerMs,
}: {
  memoryBytes?: number;
  bytesPerSecond?: number;
  windowMs?: number;
  lingerMs?: number;
} = {}): BodyBounds => ({
  memory: new ByteShares(memoryBytes, 'bodies of requests'),
  disk: new ByteShares(DISK_BYTES, 'uploads'),
  pace: { bytesPerSecond, windowMs },
  lingerMs,
});

/** Bytes that a logging request holds beside its body: the connection, headers, promises. */
const BYTES_PER_INGEST = 16 * 1024;
/** Bytes that other requests may hold without a share: a search is not refused because its account logs as much as it may. */
const UNCOUNTED_BYTES = 64 * 1024;

/**
 * The share that the body of one request takes.
 * @param announced the length that the request names
 * @throws ServiceError `TooManyRequests` or `Unavailable`, here and by `add`
 */
export function openBodyShare(
  shares: ByteShares,
  {
    caller,
    projectId,
    isIngest,
    announced,
  }: { caller: Caller; projectId: string | undefined; isIngest: boolean; announced: number },
): ByteShare {
  const owners = [caller.userId, ...(projectId === undefined ? [] : [projectId])];
  let uncounted = isIngest ? 0 : UNCOUNTED_BYTES;
  const share = shares.open(owners, isIngest ? BYTES_PER_INGEST + announced : Math.max(0, announced - uncounted));
  if (isIngest) share.add(BYTES_PER_INGEST);
  return {
    add(bytes) {
      const counted = Math.max(0, bytes - uncounted);
      uncounted -= bytes - counted;
      if (counted > 0) share.add(counted);
    },
    release: share.release,
  };
}
