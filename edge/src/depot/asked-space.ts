/** Space that a depot is asked for. */

import type { Millis } from '@millrace/shared/base/clock';

/** Space that is asked for, and the file that it is for. */
export interface Request {
  /** Bytes to reserve; undefined: as many as come. */
  readonly bytes: number | undefined;
  readonly forMs: Millis;
  readonly name?: string | undefined;
  readonly type?: string | undefined;
  /** Length and SHA-256, hexadecimal, that it must have. */
  readonly length?: number | undefined;
  readonly sha256?: string | undefined;
  readonly resumable: boolean;
  /** Set if it is reserved for a guest. */
  readonly guest?: true | undefined;
}
