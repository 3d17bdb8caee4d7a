/**
 * Writes the script of cosync (WORLDS 4.2). It does the work of `sync apply`, one file after the
 * other, on machines that have only a POSIX shell, curl and sha256sum.
 */

import { formatKnownDigest } from '../http/fields/known-digest.ts';
import { isExecutable, type Manifest, type SyncFile } from './manifest.ts';
import { fileUrl, STAGING } from './sync-path.ts';
import { rankedEdges, waysTo } from './ways.ts';

export interface ScriptOptions {
  /** Base URLs of edges. */
  readonly edges: readonly string[];
  /** True if the origin itself may be asked when no edge helps. */
  readonly direct: boolean;
}

/** Writes the script. @param manifest checked by `parseManifest`: its paths are trusted here */
export function syncScript(manifest: Manifest, options: ScriptOptions): string {
  const edges = rankedEdges(options.edges);
  const direct = options.direct || edges.length === 0;
  const bases = options.edges.map((edge) => `${edge.replace(/\/+$/, '')}/`);
  const cases = bases.map((base, i) => `    ${i}) base=${quote(base)} ;;`);
  const first = manifest.files.map(({ path }) => {
    const { edge } = waysTo(fileUrl(manifest.url, path), edges, direct)[0] ?? {};
    return Math.max(0, options.edges.indexOf(edge ?? ''));
  });
  const files = manifest.files.map((file, i) => fileLine(file, first[i] as number));
  const looks = manifest.files.map((file, i) => lookLine(file, first[i] as number));
  return [
    HEAD,
    `url=${quote(manifest.url)}`,
    `edges=${bases.length}`,
    `direct=${direct ? 1 : 0}`,
    `files=${manifest.files.length}`,
    'edge() {',
    '  case $1 in',
    ...cases,
    "    *) base='' ;;",
    '  esac',
    '}',
    BODY,
    ...manifest.folders.map((path) => `d ${quote(path)}`),
    ...looks,
    LOOKED,
    ...files,
    TAIL,
  ].join('\n');
}

/** Writes the line of a file: `f SIZE SHA256 FIELD RUN TIME EDGE PATH [URL-PATH]`. */
function fileLine(file: SyncFile, edge: number): string {
  const { path, size, sha256, modified } = file;
  const field = formatKnownDigest(sha256);
  const run = isExecutable(file) ? 1 : 0;
  const from = fileUrl('', path);
  // Most paths need no encoding in the URL, so they are written only once.
  const last = from === path ? '' : ` ${quote(from)}`;
  return `f ${size} ${sha256} ${field} ${run} ${touchTime(modified)} ${edge} ${quote(path)}${last}`;
}

/** Writes the line that looks at a file first: `l SIZE SHA256 FIELD EDGE PATH [URL-PATH]`. */
function lookLine({ path, size, sha256 }: SyncFile, edge: number): string {
  const from = fileUrl('', path);
  const last = from === path ? '' : ` ${quote(from)}`;
  return `l ${size} ${sha256} ${formatKnownDigest(sha256)} ${edge} ${quote(path)}${last}`;
}

/** Writes a time, Unix ms, in the form that touch(1) reads: CCYYMMDDhhmm.SS, in UTC. */
export function touchTime(modified: number): string {
  const [, date, time] = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)/.exec(
    new Date(modified).toISOString(),
  ) as unknown as [string, string, string];
  const [hours, minutes, seconds] = time.split(':');
  return `${date.replaceAll('-', '')}${hours}${minutes}.${seconds}`;
}

/** Quotes any text as a word of the shell. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

const HEAD = `#!/bin/sh
# Written by Millrace: brings a folder to its published state. Needs curl and sha256sum.
#
#   sh THIS-SCRIPT [--dry-run] [--progress] [FOLDER]      (FOLDER: the current one)
#
# Fetches only files that differ, and puts each in its place once its digest is right. After an
# interruption it continues where it stopped. Files that were not published are left alone.
set -u
LC_ALL=C
export LC_ALL
stage=${STAGING}`;

const BODY = `
dry=0
progress=0
while :; do
  case \${1-} in
    --dry-run) dry=1 ;;
    --progress) progress=1 ;;
    *) break ;;
  esac
  shift
done
folder=\${1-.}
case $folder in
  /*) ;;
  *) folder=./$folder ;;
esac
same=0
fetched=0
failed=0
begun=0
step=$((files / 100 + 1))

complain() {
  printf 'sync: %s\\n' "$*" >&2
}

for program in curl sha256sum; do
  command -v "$program" >/dev/null 2>&1 || { complain "$program is needed"; exit 2; }
done
if [ "$dry" = 0 ]; then
  mkdir -p "$folder" || exit 6
fi
if [ -d "$folder" ]; then
  cd "$folder" || exit 6
  here=1
else
  here=0
fi
if [ "$here" = 1 ] && [ -L "./$stage" ]; then
  complain "$stage is a link"
  exit 6
fi
if [ "$dry" = 0 ]; then
  mkdir -p "./$stage" || exit 6
fi

# A run that is told to end takes its curl along, which would go on writing.
child=
stop() {
  [ -z "$child" ] || kill "$child" 2>/dev/null
  exit "$1"
}
trap 'stop 130' INT
trap 'stop 143' HUP TERM

transfer() {
  curl "$@" &
  child=$!
  wait "$child"
  ended=$?
  child=
  return "$ended"
}

# Succeeds if no folder above the path is a link: nothing is written to the target of a link.
inside() {
  above=$1
  while :; do
    case $above in
      */*) above=\${above%/*} ;;
      *) return 0 ;;
    esac
    [ ! -L "./$above" ] || return 1
  done
}

is() {
  sum=$(sha256sum <"$1" 2>/dev/null) || return 1
  [ "\${sum%% *}" = "$2" ]
}

# Asks one server, but not for the bytes that are there already.
ask() {
  if [ -s "$part" ]; then
    transfer -fsSLg --connect-timeout 20 --speed-limit 1 --speed-time 60 --retry 3 \\
      -H "Millrace-Digest: $field" -H "Cache-Control:$fresh" \\
      -C - -o "$part" -- "$1" 2>/dev/null && return 0
    rm -f "$part"
  fi
  transfer -fsSLg --connect-timeout 20 --speed-limit 1 --speed-time 60 --retry 3 \\
    -H "Millrace-Digest: $field" -H "Cache-Control:$fresh" -o "$part" -- "$1"
}

get() {
  part=./$stage/$sha.part
  if [ "$size" = 0 ]; then
    : >"$part"
    return 0
  fi
  if [ -f "$part" ]; then
    is "$part" "$sha" && return 0
    [ "$(wc -c <"$part")" -lt "$size" ] || rm -f "$part"
  fi
  fresh=''
  tries=0
  # The first one is asked again at the end: a wrong beginning is not a fault of the edges.
  while [ "$edges" -gt 0 ] && [ "$tries" -le "$edges" ]; do
    edge "$(((first + tries) % edges))"
    ask "$base$url$from" && is "$part" "$sha" && return 0
    # A server that breaks off leaves a beginning, which the next one can continue.
    [ "$(wc -c <"$part" 2>/dev/null || echo "$size")" -lt "$size" ] || rm -f "$part"
    fresh=' no-cache'
    tries=$((tries + 1))
  done
  if [ "$direct" = 1 ]; then
    fresh=' no-cache'
    ask "$url$from" && is "$part" "$sha" && return 0
    rm -f "$part"
    ask "$url$from" && is "$part" "$sha" && return 0
    rm -f "$part"
  fi
  return 1
}

# Thousands of small files are compared by one sha256sum, and fetched by a few curls. This only saves
# time: "f" looks at every result, and does for itself what is missing.
batch=0
misses=0
if [ "$dry" = 0 ]; then
  exec 4>"./$stage/present" 5>"./$stage/wanted"
fi

wanted() {
  exec 5>&-
  if [ "$batch" -gt 0 ] && [ "$misses" -lt 3 ]; then
    transfer --fail-early -sS -K "./$stage/wanted" 2>/dev/null || misses=$((misses + 1))
  fi
  batch=0
  exec 5>"./$stage/wanted"
}

# l SIZE SHA256 FIELD EDGE PATH [PATH-IN-URL]
l() {
  [ "$dry" = 0 ] || return
  if [ -f "./$5" ]; then
    # Only regular files are opened here, and only in this folder.
    if [ ! -L "./$5" ] && inside "$5"; then printf '%s  ./%s\\n' "$2" "$5" >&4; fi
    return
  fi
  if [ "$1" = 0 ] || [ "$1" -gt 262144 ] || [ -s "./$stage/$2.part" ]; then return; fi
  base=''
  [ "$edges" = 0 ] || edge "$4"
  [ "$batch" = 0 ] || printf 'next\\n' >&5
  printf 'url = "%s"\\noutput = "./%s/%s.part"\\nheader = "Millrace-Digest: %s"\\n' \\
    "$base$url\${6-$5}" "$stage" "$2" "$3" >&5
  printf 'header = "Cache-Control:"\\nfail\\nlocation\\ngloboff\\nconnect-timeout = 20\\n' >&5
  printf 'speed-limit = 1\\nspeed-time = 60\\n' >&5
  batch=$((batch + 1))
  [ "$batch" -lt 200 ] || wanted
}

# Succeeds if the next result is that the file has its digest.
found() {
  case $result in
    "./$path: "*) ;;
    *) return 1 ;;
  esac
  was=$result
  IFS= read -r result <&6 || result=''
  [ "$was" = "./$path: OK" ]
}

# f SIZE SHA256 FIELD RUN TIME EDGE PATH [PATH-IN-URL]
f() {
  size=$1
  sha=$2
  field=$3
  run=$4
  time=$5
  first=$6
  path=$7
  from=\${8-$7}
  begun=$((begun + 1))
  if [ "$progress" = 1 ] && [ $((begun % step)) = 0 ]; then
    printf 'progress %s %s\\n' "$begun" "$files"
  fi
  if [ "$here" = 1 ] && ! inside "$path"; then
    complain "$path: a folder above it is a link"
    failed=$((failed + 1))
    return
  fi
  if [ "$here" = 1 ] && [ ! -L "./$path" ] && [ -f "./$path" ] &&
    { found || is "./$path" "$sha"; }; then
    same=$((same + 1))
    [ "$dry" = 0 ] || return
  else
    if [ "$dry" = 1 ]; then
      printf 'fetch %s (%s bytes)\\n' "$path" "$size"
      fetched=$((fetched + 1))
      return
    fi
    if [ ! -L "./$path" ] && [ -e "./$path" ] && [ ! -f "./$path" ]; then
      complain "$path: something else is in its place"
      failed=$((failed + 1))
      return
    fi
    case $path in
      */*) parent=./\${path%/*} ;;
      *) parent=. ;;
    esac
    if [ ! -d "$parent" ] && ! mkdir -p "$parent"; then
      complain "$path: its folder cannot be made"
      failed=$((failed + 1))
      return
    fi
    # mv would follow a link that leads to a folder.
    [ ! -L "./$path" ] || rm -f "./$path"
    if ! get || ! mv -f "$part" "./$path"; then
      complain "$path: could not be fetched"
      failed=$((failed + 1))
      return
    fi
    fetched=$((fetched + 1))
  fi
  if [ "$run" = 1 ]; then
    [ -x "./$path" ] || chmod +x "./$path"
  else
    [ ! -x "./$path" ] || chmod a-x "./$path"
  fi
  TZ=UTC0 touch -t "$time" "./$path"
}

# d FOLDER
d() {
  [ "$dry" = 0 ] || return
  if inside "$1/" && [ ! -L "./$1" ]; then
    mkdir -p "./$1"
  else
    complain "$1: it or a folder above it is a link"
    failed=$((failed + 1))
  fi
}
`;

/** Ends the looking: the results are read by `found`, in the order of the files. */
const LOOKED = `
result=''
if [ "$dry" = 0 ]; then
  wanted
  exec 4>&- 5>&-
  sha256sum -c "./$stage/present" >"./$stage/found" 2>/dev/null
  exec 6<"./$stage/found"
  IFS= read -r result <&6 || result=''
fi
`;

const TAIL = `
[ "$dry" = 1 ] || rm -f "./$stage/present" "./$stage/wanted" "./$stage/found"
if [ "$dry" = 0 ] && [ "$failed" = 0 ]; then
  rm -f "./$stage"/*.part
  rmdir "./$stage" 2>/dev/null
fi
printf '%s unchanged, %s fetched, %s failed\\n' "$same" "$fetched" "$failed"
[ "$failed" = 0 ]
`;
