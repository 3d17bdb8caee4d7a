/** See `bundle.mjs`. */

/** A file of a bundle. */
interface OutputFile {
  readonly path: string;
  readonly text: string;
}

export const COMMANDS: Readonly<Record<string, string>>;
export const NATIVE: Readonly<Record<string, string>>;
export function bundle(
  folder: string,
  programs: Readonly<Record<string, string>>,
  places?: Readonly<Record<string, string>>,
  options?: { readonly external?: readonly string[]; readonly esbuild?: object },
): Promise<{ readonly outputFiles: readonly OutputFile[] }>;
