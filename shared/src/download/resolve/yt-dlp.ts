/**
 * Reads what `yt-dlp --dump-single-json` prints. Only a format that is one file behind one http(s)
 * link can be downloaded here: audio and video apart would have to be merged, and streams in
 * fragments (HLS, DASH) have no such link.
 */

/** A format as yt-dlp describes it; other members do not matter here. */
interface YtDlpFormat {
  readonly url?: string | null | undefined;
  readonly protocol?: string | null | undefined;
  readonly ext?: string | null | undefined;
  /** `none`: it has no picture, or no sound; null: not known. */
  readonly vcodec?: string | null | undefined;
  readonly acodec?: string | null | undefined;
  readonly height?: number | null | undefined;
  readonly filesize?: number | null | undefined;
  readonly format_note?: string | null | undefined;
  readonly fragments?: unknown;
  readonly has_drm?: unknown;
  readonly http_headers?: Readonly<Record<string, string>> | null | undefined;
}

/** A page as yt-dlp describes it. A page with one file may have its members itself, without formats. */
export interface YtDlpInfo extends YtDlpFormat {
  readonly _type?: string | null | undefined;
  readonly title?: string | null | undefined;
  readonly id?: string | null | undefined;
  readonly is_live?: boolean | null | undefined;
  /** Ordered from the worst to the best. */
  readonly formats?: readonly YtDlpFormat[] | null | undefined;
  readonly entries?: readonly unknown[] | null | undefined;
}

/** The format that was chosen, or why there is none. */
export type YtDlpChoice =
  | {
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly name: string;
      readonly length: number | undefined;
      readonly note: string | undefined;
    }
  | { readonly refused: string };

/** Fields of yt-dlp's that belong to its own requests. */
const NOT_OURS: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'host',
  'range',
  'sec-fetch-mode',
]);

/** Chooses what is downloaded of a page. */
export function chosenByYtDlp(info: YtDlpInfo): YtDlpChoice {
  const { _type: type, entries, is_live: live } = info;
  if (type === 'playlist' || type === 'multi_video' || Array.isArray(entries)) {
    return { refused: 'the page has several videos: give the link of one of them' };
  }
  if (live === true) return { refused: 'it is a live stream, which has no end' };
  const all = info.formats?.length ? info.formats : [info];
  const direct = all.filter(isDirect);
  const complete = direct.filter(({ vcodec, acodec }) => vcodec !== 'none' && acodec !== 'none');
  // A page without any picture is one of music.
  const isMusic = all.every(({ vcodec }) => vcodec === 'none');
  const found = complete.at(-1) ?? (isMusic ? direct.at(-1) : undefined);
  if (found === undefined) return { refused: whyNone(all, direct) };
  const ext = found.ext ?? info.ext ?? 'bin';
  return {
    url: found.url as string,
    headers: fieldsOf(found.http_headers ?? info.http_headers ?? {}),
    name: `${info.title || info.id || 'video'}.${ext}`,
    length: found.filesize ?? undefined,
    note: noteOn(found, all),
  };
}

function isDirect({ url, protocol, fragments, has_drm: drm }: YtDlpFormat): boolean {
  const isHttp = /^https?:/.test(url ?? '') && (protocol == null || /^https?$/.test(protocol));
  return isHttp && !Array.isArray(fragments) && drm !== true && drm !== 'maybe';
}

function whyNone(all: readonly YtDlpFormat[], direct: readonly YtDlpFormat[]): string {
  const rest = 'Millrace does neither; yt-dlp itself can';
  if (direct.length > 0) {
    return `picture and sound come apart and would have to be merged, or in fragments. ${rest}`;
  }
  if (all.some(({ has_drm: drm }) => drm === true)) return 'it is protected against copying (DRM)';
  return all.some(({ url, protocol }) => Boolean(url ?? protocol))
    ? `it comes in fragments only (HLS, DASH), which would have to be merged. ${rest}`
    : 'yt-dlp names no format of it';
}

/** Says which quality was chosen, if a better one comes in parts. */
function noteOn(found: YtDlpFormat, all: readonly YtDlpFormat[]): string | undefined {
  const height = found.height ?? 0;
  const best = all.reduce((most, one) => Math.max(most, one.height ?? 0), 0);
  if (best <= height || height === 0) return undefined;
  return `${height}p: the better formats, up to ${best}p, would have to be merged`;
}

function fieldsOf(given: Readonly<Record<string, string>>): Record<string, string> {
  const fields = Object.entries(given).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(fields.filter(([name]) => !NOT_OURS.has(name)));
}
