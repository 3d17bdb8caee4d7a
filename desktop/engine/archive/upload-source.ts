/** The port that uploads read through: a file, or a folder as a tar, in any range and order. */

/** State of a file, as far as the system tells it: another one means another file. */
export interface FileState {
  readonly bytes: number;
  /**
   * Time of the last change, Unix milliseconds. Of a folder a number that stands for names, lengths and
   * times of all its members.
   */
  readonly mtimeMs: number;
}

export interface UploadSource {
  /** State in which it was opened. All bytes that are read are those of this state. */
  readonly state: FileState;
  /** The file that has the bytes; undefined if none has them all. */
  readonly file: string | undefined;
  /** Number of links and special files of a folder that are left out. */
  readonly leftOut: number;
  /**
   * Reads from a position below the length.
   *
   * @returns number of bytes, at least 1
   * @throws MillraceError `file-has-changed`; Error of the file system
   */
  read(into: Buffer, position: number): Promise<number>;
  /** @throws MillraceError `file-has-changed` if the state is another one now */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** Fills the buffer. @throws as `read` */
export async function fill(source: UploadSource, into: Buffer, position: number): Promise<void> {
  for (let at = 0; at < into.length; ) at += await source.read(into.subarray(at), position + at);
}
