/**
 * Writes the small script that `sync push` sends to each host (WORLDS 4.2): it fetches the full
 * script through an edge, compares it with its digest, and runs it.
 */

import { formatKnownDigest } from '../http/fields/known-digest.ts';
import { quote } from './sync-script.ts';
import { type RankedEdge, waysTo } from './ways.ts';

export interface BootstrapOptions {
  /** URL of the full script at the origin. */
  readonly url: string;
  /** Length of the full script, bytes. */
  readonly size: number;
  /** SHA-256 of the full script, hexadecimal. */
  readonly sha256: string;
  readonly edges: readonly RankedEdge[];
  /** True if the origin itself may be asked when no edge helps. */
  readonly direct: boolean;
  /** Folder on the host; any text without NUL. */
  readonly dir: string;
  /** Makes no change, and lists what would be fetched. */
  readonly dryRun: boolean;
  /** Hexadecimal text that names the run's temporary folder; nobody can know it before. */
  readonly token: string;
}

/** Exit statuses of the bootstrap script, besides those of the full script. */
export const BOOTSTRAP_EXIT = {
  /** curl or sha256sum is missing. */
  program: 2,
  /** No server sent the full script. */
  fetch: 3,
  /** The full script has another digest, so it was not run. */
  digest: 5,
  /** A folder cannot be written. */
  folder: 6,
} as const;

/**
 * Writes the bootstrap script, for the standard input of a POSIX shell. Standard input must stay open
 * for as long as the script is to run: at its end, the script stops what it has started.
 */
export function bootstrapScript(options: BootstrapOptions): string {
  const { url, size, sha256, edges, direct, dir, dryRun, token } = options;
  const asked = waysTo(url, edges, direct).map(({ edge }) =>
    edge === undefined ? url : `${edge.replace(/\/+$/, '')}/${url}`,
  );
  // Each way twice: a connection that breaks is not a reason to ask the origin.
  const urls = [...new Set(asked)].flatMap((one) => [one, one]);
  const argument = dir.startsWith('/') ? dir : `./${dir}`;
  return `exec 3<&0
bootstrap() {
  LC_ALL=C
  export LC_ALL
  say() { printf 'millrace: %s\\n' "$*" >&2; }
  for program in curl sha256sum; do
    command -v "$program" >/dev/null 2>&1 ||
      { say "this host has no $program, and needs it"; exit ${BOOTSTRAP_EXIT.program}; }
  done
  work=\${TMPDIR:-/tmp}/millrace-${token}
  (umask 077 && mkdir "$work") || exit ${BOOTSTRAP_EXIT.folder}
  child= watch= status=${BOOTSTRAP_EXIT.fetch}
  trap 'rm -rf "$work"' EXIT
  trap 'kill $child $watch 2>/dev/null; exit 143' HUP INT TERM
  for url in ${urls.map(quote).join(' ')}; do
    curl -fsSLg --connect-timeout 20 --speed-limit 1 --speed-time 60 --max-filesize ${size} \\
      -H ${quote(`Millrace-Digest: ${formatKnownDigest(sha256)}`)} -o "$work/script" \\
      -- "$url" </dev/null || continue
    sum=$(sha256sum <"$work/script") || continue
    [ "\${sum%% *}" != ${sha256} ] || { status=0; break; }
    status=${BOOTSTRAP_EXIT.digest}
  done
  case $status in
    ${BOOTSTRAP_EXIT.fetch}) say 'the script could not be fetched' ;;
    ${BOOTSTRAP_EXIT.digest}) say 'the script has a wrong digest, and was not run' ;;
    *)
      sh "$work/script" --progress${dryRun ? ' --dry-run' : ''} ${quote(argument)} </dev/null 3<&- &
      child=$!
      # The end of the input means that whoever pushes has gone.
      { while read -r line; do :; done; kill "$child"; } <&3 >/dev/null 2>&1 &
      watch=$!
      wait "$child"
      status=$?
      kill "$watch" 2>/dev/null
      ;;
  esac
  exit "$status"
}
bootstrap
`;
}
