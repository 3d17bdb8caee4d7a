/**
 * The edge's policy in one place: whether a URL may be fetched, whether it may be at a private
 * address, and which rules apply to its files. The allow-list, the rules or a signed link decide.
 */

import { createHash } from 'node:crypto';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import { isDepotHost } from '@millrace/shared/cdn/depot/depot-file';
import type { RequestDemands } from '@millrace/shared/http/answers/freshness';
import { readContentLength } from '@millrace/shared/http/answers/range-contract';
import { parseContentRange } from '@millrace/shared/http/fields/content-range';
import { listField } from '@millrace/shared/http/fields/headers';
import { withoutIgnored } from '@millrace/shared/http/urls/ignored-query';
import type { HttpAnswer } from '@millrace/shared/node/http-response';
import {
  checkLink,
  type LinkGrant,
  readLinkSecrets,
  signAnew,
} from '@millrace/shared/node/link-signature';
import type { Pointer, Scope } from '../files/file-version.ts';
import type { AllowList } from './allow-list.ts';
import { hasBadPort } from './bad-ports.ts';
import { OriginKeys } from './origin-keys.ts';
import {
  checkAgainstRule,
  type OriginRule,
  OriginRules,
  type RuleVerdict,
  type ServedOrigin,
} from './origin-rules.ts';
import type { OwnAddresses } from './own-addresses.ts';
import { type PresetName, presetRules } from './presets.ts';
import { checkLiteral } from './public-address.ts';

export interface PolicyFiles {
  readonly rulesFile: string | undefined;
  readonly linkSecretFile: string | undefined;
  /** Presets whose origins are served; none by default. */
  readonly preset?: readonly PresetName[];
  readonly originKeysFile?: string | undefined;
}

/** Length of the policy's digest, hexadecimal digits. */
const DIGEST_CHARS = 16;

const NO_FILES: PolicyFiles = { rulesFile: undefined, linkSecretFile: undefined };

export class OriginPolicy {
  readonly #allowed: AllowList;
  readonly #files: PolicyFiles;
  /** Addresses of this machine, which are connected to only if they are listed. */
  readonly own: OwnAddresses | undefined;
  /** Rules of the presets, which count where the operator's say nothing. */
  readonly #presets: OriginRules;
  #rules: OriginRules;
  #keys: OriginKeys;
  #secrets: readonly string[];
  #digest: string;

  /**
   * @param own addresses of this machine
   * @throws MillraceError `bad-option` if a file cannot be used
   */
  constructor(allowed: AllowList, files: PolicyFiles = NO_FILES, own?: OwnAddresses) {
    this.#allowed = allowed;
    this.own = own;
    this.#files = files;
    this.#presets = new OriginRules(presetRules(this.presets));
    this.#rules = readRules(files);
    this.#secrets = readSecrets(files);
    this.#keys = readKeys(files);
    this.#digest = this.#computeDigest();
  }

  /** Reads the files again; one that cannot be used is logged, and the old one stays in force. */
  reload(log: Log): void {
    const attempt = (what: string, read: () => void) => {
      try {
        read();
        log.info({ what }, 'policy read again');
      } catch (error) {
        if (!isMillraceError(error)) throw error;
        log.error({ what, reason: error.detail }, 'policy cannot be read: the old one still holds');
      }
    };
    const { rulesFile, linkSecretFile, originKeysFile } = this.#files;
    if (rulesFile !== undefined) {
      attempt('--rules-file', () => {
        this.#rules = readRules(this.#files);
      });
    }
    if (linkSecretFile !== undefined) {
      attempt('--link-secret-file', () => {
        this.#secrets = readSecrets(this.#files);
      });
    }
    if (originKeysFile !== undefined) {
      attempt('--origin-keys-file', () => {
        this.#keys = readKeys(this.#files);
      });
    }
    this.#digest = this.#computeDigest();
  }

  /** Keys to origins that let only this edge in. */
  get keys(): OriginKeys {
    return this.#keys;
  }

  /** Digest of everything that decides what is served: edges with the same one serve the same. */
  get digest(): string {
    return this.#digest;
  }

  #computeDigest(): string {
    const listed = this.#allowed.entries.map((entry) => entry.trim()).toSorted();
    const text = JSON.stringify([
      ...[listed, this.#rules.text, this.#secrets, this.#keys.text],
      ...(this.#presets.servesNothing ? [] : [this.#presets.text]),
    ]);
    return createHash('sha256').update(text).digest('hex').slice(0, DIGEST_CHARS);
  }

  /** True if signed links are accepted. */
  get takesLinks(): boolean {
    return this.#secrets.length > 0;
  }

  /**
   * Checks a URL that is requested, or that an origin redirects to.
   *
   * @param scope of the request
   * @param grant of a signed link, whose signature has been checked
   * @returns true when the connection may go to a private address
   * @throws MillraceError `origin-not-allowed` or `private-address`
   */
  check(url: URL, scope: Scope, grant?: LinkGrant): boolean {
    // Files of depots have names there, which only nodes may ask each other for.
    if (isDepotHost(url.hostname)) throw new MillraceError('origin-not-allowed', url.host);
    const listed = this.#allowed.check(url);
    const ruled = this.#verdict(url);
    if (hasBadPort(url)) {
      throw new MillraceError('origin-not-allowed', `port ${url.port} is of another protocol`);
    }
    const allowed =
      scope === 'private' ||
      ruled.says === 'serve' ||
      (ruled.says === 'signed' && isGranted(url, grant, true)) ||
      (ruled.says === 'none' && (listed.allowed || isGranted(url, grant, false)));
    if (!allowed) throw new MillraceError('origin-not-allowed', url.host);
    // The edge has a key to these files: clients need a link that its operator has signed.
    if (this.#keys.isPrivate(url) && !isGranted(url, grant, true)) {
      throw new MillraceError('origin-not-allowed', `${url.host} is for signed links`);
    }
    if (listed.privateToo || ruled.privateToo || this.#keys.of(url) !== undefined) return true;
    // Neither a signature nor the token opens the operator's network.
    checkLiteral(url, this.own);
    return false;
  }

  /** Returns true for a URL that this edge would serve by a signed link. */
  isServedByLink(url: URL): boolean {
    if (!this.takesLinks) return false;
    const grant = { permit: '', origin: url.origin, redirects: false, covers: () => true };
    try {
      this.check(url, 'public', grant);
      return true;
    } catch {
      return false;
    }
  }

  /** Served origins besides those of presets: those of the allow-list, then those of the rules. */
  get served(): readonly ServedOrigin[] {
    const listed = this.#allowed.entries.map((origin) => ({ origin, signed: false, rule: {} }));
    return [...listed, ...this.#rules.served];
  }

  /** Names of the presets, each of them once, in the order of the alphabet. */
  get presets(): readonly PresetName[] {
    return [...new Set(this.#files.preset)].toSorted();
  }

  /**
   * Looks a URL up in the operator's rules, then in those of the presets. What `defaults` of the
   * operator's say comes before what a preset says. A preset never leads to private addresses.
   */
  #verdict(url: URL): RuleVerdict {
    const own = this.#rules.check(url);
    if (own.says !== 'none') return own;
    const preset = this.#presets.check(url);
    if (preset.says === 'none') return own;
    return { ...preset, privateToo: false, rule: { ...preset.rule, ...own.rule } };
  }

  /**
   * Checks the permit of a signed link.
   *
   * @param now Unix milliseconds; without it permits do not expire
   * @throws MillraceError `no-signed-links` if none are accepted, `link-invalid`, `link-expired`
   */
  grant(permit: string, url: URL, now = 0): LinkGrant {
    if (!this.takesLinks) throw new MillraceError('no-signed-links');
    return checkLink(permit, url, this.#secrets, now);
  }

  /**
   * Names the file that a client asks for: the URL without the parameters that the rule ignores. The
   * file is kept, purged, pinned, signed and asked for under that URL, also at its origin: with the
   * parameters of one visitor, the origin could answer for that visitor, and all others would get it.
   *
   * @param url canonical
   */
  named(url: URL): URL {
    const { ignoreQuery } = this.rule(url);
    return ignoreQuery === undefined ? url : withoutIgnored(url, ignoreQuery);
  }

  /**
   * Checks the permit of a signed link that a client uses. The link may name its file with parameters
   * that the rule ignores, and may be signed for the URL with or without them.
   *
   * @param asked URL of the link, canonical
   * @param now Unix milliseconds
   * @returns a grant for the file as it is named
   * @throws MillraceError as `grant`
   */
  grantFor(permit: string, asked: URL, now: number): LinkGrant {
    const url = this.named(asked);
    try {
      return this.grant(permit, url, now);
    } catch (error) {
      if (url.href === asked.href || !isMillraceError(error, 'link-invalid')) throw error;
    }
    this.grant(permit, asked, now);
    const [secret = ''] = this.#secrets;
    return this.grant(signAnew(permit, url, secret), url, now);
  }

  /** Finds the rule for files of an origin. */
  rule(url: URL): OriginRule {
    return this.#verdict(url).rule;
  }

  /**
   * Checks a file against the rules of its origin, and of the one that redirects lead to.
   *
   * @throws MillraceError `content-type-refused`, `file-too-large`
   */
  checkFile({ version, finalUrl }: Pointer): void {
    const type = version.fields['content-type'];
    for (const url of new Set([version.url, finalUrl])) {
      checkAgainstRule(this.rule(new URL(url)), { type, length: version.length });
    }
  }

  /** The same for an answer that is passed through. @param url that was requested */
  checkAnswer(url: URL, { url: finalUrl, headers }: Pick<HttpAnswer, 'url' | 'headers'>): void {
    const type = listField(headers, 'content-type');
    const range = parseContentRange(listField(headers, 'content-range'));
    const length =
      range?.kind === 'range'
        ? (range.total ?? range.range.end)
        : (range?.total ?? readContentLength(headers));
    for (const each of [url, finalUrl]) checkAgainstRule(this.rule(each), { type, length });
  }

  /** The same for a file that was probed. @param urls its own, and those of redirects */
  checkSeen(
    urls: Iterable<URL>,
    file: { type: string | undefined; length: number | undefined },
  ): void {
    for (const url of urls) checkAgainstRule(this.rule(url), file);
  }

  /** The same if only the length is known. @throws MillraceError `file-too-large` */
  checkLength(url: URL, length: number): void {
    const { maxFileSize } = this.rule(url);
    checkAgainstRule({ maxFileSize }, { length });
  }

  /** Limits a client's demands for a fresh copy (NSDI 6.4). */
  demands(url: URL, asked: RequestDemands): RequestDemands {
    if (this.rule(url).ignoreNoCache !== true) return asked;
    return { ...asked, revalidate: false, maxAgeMs: undefined };
  }
}

/** @param sameOrigin whether redirects must stay at the link's origin, which may be private */
function isGranted(url: URL, grant: LinkGrant | undefined, sameOrigin: boolean): boolean {
  if (grant === undefined) return false;
  return grant.covers(url) || (grant.redirects && (!sameOrigin || url.origin === grant.origin));
}

function readRules({ rulesFile }: PolicyFiles): OriginRules {
  return rulesFile === undefined ? new OriginRules('{}') : OriginRules.fromFile(rulesFile);
}

function readKeys({ originKeysFile }: PolicyFiles): OriginKeys {
  return originKeysFile === undefined ? new OriginKeys([]) : OriginKeys.fromFile(originKeysFile);
}

function readSecrets({ linkSecretFile }: PolicyFiles): readonly string[] {
  return linkSecretFile === undefined ? [] : readLinkSecrets(linkSecretFile);
}
