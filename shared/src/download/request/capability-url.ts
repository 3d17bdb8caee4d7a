/**
 * Recognizes capability URLs, which give access to anyone who has them: URLs that are signed, valid
 * for a time, or have an identifier that cannot be guessed. They must not be passed on. In doubt a
 * URL counts as a capability: the only cost is that no edge is asked.
 */

import { isAmong } from '../../http/urls/host-list.ts';
import { looksRandom } from './random-text.ts';
import { looksSigned } from './signed-url.ts';

/** The feature that makes a URL a capability. */
export type Capability =
  | 'user-name'
  | 'signature'
  | 'secret'
  | 'time-limit'
  | 'share-link'
  | 'random-id';

/**
 * Names of parameters that end in a word for a secret, or have one of the clearest of them anywhere.
 * A name is given as words with hyphens: `data[accessToken]` is `data-access-token`.
 */
const SECRET_NAME =
  /(?:^|-)(?:tkn|pass|pwd|pw|psk|pin|(?:api|access|auth|resource|rl|share|download|license|licence|session|[a-z])?-?key|jws|session|session-?id|sid|sign|mac|policy|otp|once|verify|verification|confirm|share|shared|share-?id|invite|grant|assertion|access-?code|authorization|bearer|saml\w*)$|(?:^|-)(?:token|secret|password|passwd|passcode|signature|jwt|hmac|credentials?|cookie)(?=-|\d*$)/;
/** Ends of names in which words are written together: `usertoken`, `urlsig`. */
const SECRET_ENDING =
  /(?:token|secret|passw(?:or)?d|passcode|accesscode|signature|sig|hmac|(?:api|auth|access)key|credentials?|sess(?:ion)?id|auth|ticket|cookie|nonce)$/;
/** Names of codes and keys of one person or one link, whose words may be written together. */
const CODE_OR_KEY =
  /(?:(?:^|-)(?:auth|authorization|oob|activation|invite|invitation|reset|user|device|grant|redeem|voucher|coupon|verification|confirm(?:ation)?|security|login|link|share|download|unlock|pass)-?code|(?:pass|secret|rss|user|link|file|dl|private|share|view|login|session|client|licen[cs]e|torrent|magic)key)$/;
/**
 * Names of what one person has been given, or of that person: links in e-mails, tickets of a log-in,
 * invitations, vouchers. With the value of a switch (`?private=0`) they are only that.
 */
const PERSONAL_NAME =
  /(?:^|-)(?:magic|magic-?link|one-?time|ott|otl|tok|tk|lt|totp|mfa|csrf|xsrf|challenge|verifier|proof|seal|salt|macaroon|capability|creds?|claim|entitlement|unlock|activation|redeem|voucher|coupon|invitation|invitee|guest|guest-?pass|private|cap|crypt|enc|encrypted|nonce\d*|wc-?order|unguessable|secure|access|login|recipients?|rcpt|subscriber|addressee|(?:e-?)?mail|customer|member|eid)$/;
const SWITCH = /^(?:[01]|true|false|yes|no|on|off|public|)$/i;
/** Names that, together with a code, are the end of a log-in by OAuth 2 (RFC 6749, 4.1.2; RFC 9207). */
const OAUTH_NAME =
  /^(?:state|session-?state|iss|scope|redirect-ur[il]|client-id|grant-type|auth-?user|hd|prompt)$/;
/**
 * Prefixes that the parameters of signing schemes share: S3, Google, Alibaba, Volcano, Huawei,
 * Tencent, Akamai.
 */
const SIGNING_PREFIX =
  /^(?:x-(?:amz|goog|oss|tos|obs|cos|ms|bz|emc|ibm|qiniu)-|q-sign|hdn(?:ts|ea|tl)|bcdn_|__gda__)/;
/**
 * Names of parameters for a hash. Only together with an expiry do they mean a signature:
 * `?md5=...&expires=...`, `?st=...&e=...`.
 */
const HASH_NAME = /^(?:md5|hash|h|hs|hm|s|st|is|t|sum|digest|check(?:sum)?|code|c|k|v)$/;
const EXPIRY_NAME =
  /^(?:x-[a-z]+-expires|(?:url)?expir(?:es|y|ation|e)|expires-?(?:at|in|on)|exp|e|ex|et|oe|se|etime|end-?time|(?:ws|tx)-?time|deadline|valid|valid-?(?:to|until|till|thru)|until|ttl|not-?after|lifetime)$/;
/** Names for a hash of a URL and the time next to it, where no name says that it is an expiry. */
const URL_HASH_NAME = /^(?:md5|hash|h|hs|hm|tk|digest|check(?:sum)?)$/;
const TIME_NAME = /^(?:ts?|tm|time|timestamp)$/;
/** Names of a user, which together with `p` mean a log-in. */
const USER_NAME = /^(?:u|uid|usr|user|user-?(?:name|id)|login)$/;
/** A point in time: Unix time in decimal or hexadecimal digits, or a date. */
const MOMENT = /^(?:\d{9,14}(?:\.\d+)?|[0-9a-f]{8}|\d{4}-?\d\d-?\d\d(?:[T ].*)?)$/i;
/** Names of parameters for digests and versions, which publishers put into public URLs. */
const CONTENT_NAME =
  /^(?:sha-?(?:1|2|224|256|384|512)|b2|blake[23]\w*|checksum|integrity|rev|revision|ref|commit|version|ver|v|build|build[-_]?id|etag)$/;
/** Names of parameters that say which public file is meant, so that only clear secrets stand out. */
const PUBLIC_NAME =
  /^(?:file|file-?name|download|dl|asset|name|title|path|dir|folder|arch|architecture|os|platform|system|cpu|product|package|pkg|app|target|image|model|dataset|dist|distro|suite|release|channel|edition|flavou?r|variant|device|board|format|type|codec|quality|resolution|lang|language|locale|mirror|use-?mirror|host|server|region|country|site|page|tag|branch|date|from|to|q|query|filter|category|project|repo|source|src|plugin|referr?er|utm-\w+|response-content-(?:disposition|type))$/;
/** A key of a licence: groups of capitals and digits. */
const LICENCE_KEY = /^(?=.*\d)[A-Z\d]{4,8}(?:-[A-Z\d]{4,8}){2,}$/i;
/** Unix time of this century's second decade and later, in seconds. */
const UNIX_TIME = /^1[3-9]\d{8}$/;
/** Longest chain of URLs inside parameters that is followed. */
const MAX_NESTED = 3;
const JWT = /(?:^|[^A-Za-z0-9_-])eyJ[\w-]{6,}\.[\w-]{2,}\.[\w-]*/;

/** Hosts that share files by unguessable links. */
const SHARING_HOSTS: readonly string[] = [
  ...['dropbox.com', 'dropboxusercontent.com', 'drive.google.com', 'docs.google.com'],
  ...['drive.usercontent.google.com', 'onedrive.live.com', '1drv.ms', 'sharepoint.com', '1drv.com'],
  ...['wetransfer.com', 'we.tl', 'mega.nz', 'mega.co.nz', 'mega.io', 'box.com', 'boxcloud.com'],
  ...['icloud.com', 'icloud-content.com', 'pcloud.com', 'pcloud.link', 'proton.me', 'sync.com'],
  ...['transfer.sh', 'file.io', 'gofile.io', 'disk.yandex.ru', 'yadi.sk', 'cloud.mail.ru'],
  ...['cdn.discordapp.com', 'media.discordapp.net', 'slack.com', 'swisstransfer.com', 'smash.gg'],
  ...['terabox.com', 'sendgb.com', 'filemail.com', 'hightail.com', 'sendspace.com', '0x0.st'],
];

/** Folders that sharing programs put before an identifier: Nextcloud, Seafile, Dropbox, others. */
const SHARE_FOLDER =
  /^(?:s|sh|share|shares|shared|sharing|public-?link|publink|scl|f|d|g|t|u|link|links|dl|drop|transfer|transfers|send|file|files|folder|folders|download|downloads|get|view|preview|guest|invite|access|attachments?|fi|fo|static|e|i|p|magic|claim|redeem|unlock|verify|confirm|reset|activate|activation|recipients?|private|secret|token|personal|voucher)$/i;

/**
 * Folders and prefixes of public stores that name contents by their digests: package pools, Git,
 * containers, nix, ostree, IPFS. A digest there is not a secret.
 */
const CONTENT_STORE =
  /\/(?:by-hash\/[a-z0-9]+|objects\/[0-9a-f]{2}|repodata|nar|ipfs|blobs|manifests|packages\/[0-9a-f]{2}\/[0-9a-f]{2}|(?:resolve|raw|archive|tree|blob|commits?|snapshot|tarball|zipball|tar\.gz|zip)|file)\/[^/]*$/i;
/** Number of names at the end of a path that `CONTENT_STORE` is matched against. */
const STORE_DEPTH = 4;
/** Names made of a digest, in any folder: container layers, nix store entries. */
const CONTENT_NAMED =
  /^(?:sha(?:1|256|512)[:-][0-9a-f]+|[0-9a-z]{32,52}\.(?:narinfo|nar(?:\.\w+)?))$/i;
/** Hosts of public sources, where a path names a revision after the project. */
const REVISION_HOSTS: readonly string[] = [
  ...['raw.githubusercontent.com', 'codeload.github.com', 'cdn.jsdelivr.net', 'unpkg.com'],
];

/**
 * Finds the feature that makes a URL a capability.
 *
 * @param url as it would be requested
 * @returns undefined if the URL looks like the URL of a public file
 */
export function capabilityIn(url: URL): Capability | undefined {
  return capabilityOf(url, 0);
}

/** @param depth of URLs in whose parameters this one is */
function capabilityOf(url: URL, depth: number): Capability | undefined {
  if (url.username + url.password !== '') return 'user-name';
  if (looksSigned(url.href)) return 'signature';
  if (isAmong(url.hostname, SHARING_HOSTS)) return 'share-link';
  const segments = url.pathname.split('/').map(decoded);
  if ([...segments, decoded(url.search)].some((text) => JWT.test(text))) return 'secret';
  const pairs = [...queryPairs(url), ...segments.flatMap(pairsIn)];
  if (url.hash.length > 1) pairs.push(...pairsIn(url.hash.slice(1)));
  return (
    capabilityOfPairs(pairs) ??
    capabilityOfPath(url, segments) ??
    capabilityInside(pairs, depth + 1)
  );
}

/** Finds a capability in URLs and in lists of parameters that are values of parameters. */
function capabilityInside(pairs: readonly Pair[], depth: number): Capability | undefined {
  if (depth > MAX_NESTED) return undefined;
  for (const [, value] of pairs) {
    const inside = /^https?:/i.test(value) ? value : listOf(value);
    if (!URL.canParse(inside)) continue;
    const found = capabilityOf(new URL(inside), depth);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the URL of a list of parameters; an empty text if the text is not such a list. */
function listOf(text: string): string {
  return text.includes('=') ? `https://list.example/?${text.replace(/^\?/, '')}` : '';
}

type Pair = readonly [name: string, value: string];

function capabilityOfPairs(given: readonly Pair[]): Capability | undefined {
  const pairs = given.map(([name, value]): Pair => [wordsOf(name), value]);
  if (given.some(([name]) => SIGNING_PREFIX.test(name.trim().toLowerCase()))) return 'signature';
  // A query that is nothing but an identifier, as Edgecast's tokens.
  if (given.some(([name, value]) => value === '' && looksRandom(name))) return 'random-id';
  for (const [name, value] of pairs) {
    if ([SECRET_NAME, SECRET_ENDING, CODE_OR_KEY].some((names) => names.test(name)))
      return 'secret';
    if (PERSONAL_NAME.test(name) && !SWITCH.test(value)) return 'secret';
    if (isHashWithTime(value)) return 'time-limit';
    if (EXPIRY_NAME.test(name) && MOMENT.test(value)) return 'time-limit';
    // An e-mail address.
    if (/^[^@\s/]+@[^@\s/]+\.[a-z]+$/i.test(value)) return 'user-name';
    if (CONTENT_NAME.test(name)) continue;
    if (LICENCE_KEY.test(value)) return 'secret';
    if (looksRandom(value, PUBLIC_NAME.test(name) ? 'strong' : 'weak')) return 'random-id';
  }
  const has = (pattern: RegExp) => pairs.some(([name]) => pattern.test(name));
  if (has(HASH_NAME) && has(EXPIRY_NAME)) return 'time-limit';
  if (has(/^code$/) && has(OAUTH_NAME)) return 'secret';
  const hasTime = pairs.some(([name, value]) => TIME_NAME.test(name) && MOMENT.test(value));
  if (hasTime && has(URL_HASH_NAME)) return 'time-limit';
  return has(USER_NAME) && has(/^p$/) ? 'secret' : undefined;
}

/**
 * Writes a name in lower case, its words joined by hyphens: `data[accessToken]` is
 * `data-access-token`.
 */
function wordsOf(name: string): string {
  const apart = name.replace(/([a-z\d])([A-Z])/g, '$1-$2').replace(/[^A-Za-z\d]+/g, '-');
  return apart.replace(/^-|-$/g, '').toLowerCase();
}

/**
 * Returns true if a text is a hash and the time of its expiry, as `/secure/<hash>,<time>/` of
 * nginx.
 */
function isHashWithTime(text: string): boolean {
  const parts = text.split(/[,;:~|!]/);
  return (
    parts.some((part) => UNIX_TIME.test(part)) && parts.some((part) => looksRandom(part, 'weak'))
  );
}

function queryPairs({ search }: URL): Pair[] {
  const parts = search.slice(1).replace(/\+/g, ' ').split('&');
  return parts.map((part): Pair => {
    const [, name = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(part) ?? [];
    return [decoded(name), decoded(value)];
  });
}

/** Finds `name=value` in a segment: matrix parameters, tokens of Akamai and BunnyCDN in paths. */
function pairsIn(segment: string): Pair[] {
  return segment.split(/[;,~&!]/).flatMap((part): Pair[] => {
    const equals = part.indexOf('=');
    return equals <= 0 ? [] : [[part.slice(0, equals), part.slice(equals + 1)]];
  });
}

function capabilityOfPath(url: URL, segments: readonly string[]): Capability | undefined {
  const names = segments.filter((name) => name !== '');
  const ofRevisions = isAmong(url.hostname, REVISION_HOSTS);
  for (const [i, name] of names.entries()) {
    const path = `/${names.slice(Math.max(0, i + 1 - STORE_DEPTH), i + 1).join('/')}`;
    if (CONTENT_NAMED.test(name) || CONTENT_STORE.test(path)) continue;
    if (ofRevisions && /^[0-9a-f]{40}$/.test(name)) continue;
    const isLast = i === names.length - 1;
    const before = names[i - 1] ?? '';
    if (SHARE_FOLDER.test(before) && looksRandom(stem(name, isLast), 'weak')) return 'share-link';
    if (looksRandom(stem(name, isLast))) return 'random-id';
    if (isHashWithTime(stem(name, isLast))) return 'time-limit';
  }
  return undefined;
}

/** Strips the extensions of a file's name: `.tar.gz` is not part of an identifier. */
function stem(name: string, isFile: boolean): string {
  return isFile ? name.replace(/(?:\.[A-Za-z][A-Za-z0-9]{0,9}){1,3}$/, '') : name;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
