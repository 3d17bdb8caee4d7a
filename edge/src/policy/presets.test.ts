import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { ruleWords } from '../pages/rule-words.ts';
import { AllowList } from './allow-list.ts';
import { OriginRules } from './origin-rules.ts';
import { OriginPolicy } from './policy.ts';
import { PRESET_NAMES, PRESETS, type PresetName, presetRules } from './presets.ts';

const YEAR = 365 * 86_400_000;
const refused = (code: string) => expect.objectContaining({ code });

function policyOf(
  preset: readonly PresetName[],
  { rules, listed = [] }: { rules?: object; listed?: readonly string[] } = {},
): OriginPolicy {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-'));
  const rulesFile = rules === undefined ? undefined : join(folder, 'rules');
  if (rulesFile !== undefined) writeFileSync(rulesFile, JSON.stringify(rules));
  const files = { rulesFile, linkSecretFile: undefined, preset };
  const policy = new OriginPolicy(new AllowList(listed), files);
  rmSync(folder, { recursive: true });
  return policy;
}

describe.each(PRESET_NAMES)('preset %s', (name) => {
  const rules = new OriginRules(presetRules([name]));

  test('serves each of its origins, with rules that can be said in words', () => {
    expect(rules.served).toHaveLength(PRESETS[name].origins.length);
    for (const { rule, signed } of rules.served) {
      expect(signed).toBe(false);
      expect(ruleWords(rule).length).toBeGreaterThan(0);
    }
  });

  test('lets no pattern stand for all hosts of a top-level domain', () => {
    for (const { origin } of rules.served)
      expect(origin).toMatch(/^(\*\.)?[a-z0-9-]+\.[a-z0-9.-]+/);
  });
});

describe('files of presets', () => {
  const rule = (url: string) => policyOf(PRESET_NAMES).rule(new URL(url));

  test.each([
    'http://deb.debian.org/debian/pool/main/h/hello/hello_2.10-3_amd64.deb',
    'http://security.debian.org/debian-security/pool/updates/main/x/x.deb',
    'http://deb.debian.org/debian/dists/stable/main/binary-amd64/by-hash/SHA256/00',
    'http://de.archive.ubuntu.com/ubuntu/pool/main/a/a.deb',
    'https://files.pythonhosted.org/packages/00/11/22/a-1.0-py3-none-any.whl',
    'https://registry.npmjs.org/left-pad/-/left-pad-1.3.0.tgz',
    'https://static.crates.io/crates/serde/serde-1.0.0.crate',
    'https://conda.anaconda.org/conda-forge/noarch/a-1.0-0.conda',
    'https://repo1.maven.org/maven2/junit/junit/4.13.2/junit-4.13.2.jar',
    'https://proxy.golang.org/github.com/google/uuid/@v/v1.6.0.zip',
  ])('%s never changes', (url) => {
    expect(rule(url)).toMatchObject({ fresh: YEAR, staleIfError: YEAR });
  });

  test.each([
    'http://deb.debian.org/debian/dists/stable/InRelease',
    'https://pypi.org/simple/pip/',
    'https://registry.npmjs.org/left-pad',
    'https://index.crates.io/se/rd/serde',
    'https://index.crates.io/config.json',
    'https://huggingface.co/bert/resolve/main/config.json',
    'https://github.com/a/b/releases/download/v1/a.tar.gz',
    'https://conda.anaconda.org/conda-forge/noarch/repodata.json.zst',
    'https://repo1.maven.org/maven2/junit/junit/maven-metadata.xml',
    'https://proxy.golang.org/github.com/google/uuid/@latest',
  ])('%s may change within ten minutes', (url) => {
    expect(rule(url).fresh).toBeLessThanOrEqual(600_000);
    expect(rule(url).fresh).toBeGreaterThan(0);
  });
});

describe('presets and the rules of the operator', () => {
  const url = new URL('http://deb.debian.org/debian/pool/a.deb');

  test('without a preset nothing is served, and several add up', () => {
    expect(() => policyOf([]).check(url, 'public')).toThrow(refused('origin-not-allowed'));
    const policy = policyOf(['pypi', 'debian', 'debian']);
    expect(policy.check(url, 'public')).toBe(false);
    expect(policy.check(new URL('https://pypi.org/simple/a/'), 'public')).toBe(false);
    for (const other of [
      'https://pypi.org/account/',
      'https://huggingface.co/',
      'http://debian.org/',
    ])
      expect(() => policy.check(new URL(other), 'public')).toThrow(refused('origin-not-allowed'));
  });

  test('an entry of the operator decides alone, even a wider one', () => {
    const refusing = policyOf(['debian'], {
      rules: { origins: [{ origin: 'deb.debian.org', allow: false }] },
    });
    expect(() => refusing.check(url, 'public')).toThrow(refused('origin-not-allowed'));
    const limited = policyOf(['debian'], { rules: { origins: [{ origin: '*', fresh: '1h' }] } });
    expect(limited.rule(url)).toEqual({ fresh: 3_600_000 });
  });

  test('limits that the operator sets for all hold for presets too', () => {
    const rules = { defaults: { maxFileSize: '1MiB', fresh: '5m' } };
    expect(policyOf(['debian'], { rules }).rule(url)).toMatchObject({
      ...{ maxFileSize: 1_048_576, fresh: 300_000, staleIfError: YEAR },
    });
  });

  test('an origin that is listed besides keeps the rules of its preset', () => {
    const policy = policyOf(['debian'], { listed: ['*'] });
    expect(policy.rule(url)).toMatchObject({ fresh: YEAR });
  });

  test('a preset does not lead to private addresses, although it names hosts', () => {
    expect(policyOf(['debian']).check(url, 'public')).toBe(false);
    expect(policyOf(['debian'], { listed: ['deb.debian.org'] }).check(url, 'public')).toBe(true);
  });

  test('edges with other presets are of another policy', () => {
    const digests = [[], ['debian'], ['debian', 'pypi']] as const;
    const all = digests.map((preset) => policyOf(preset).digest);
    expect(new Set(all).size).toBe(3);
    expect(policyOf(['pypi', 'debian']).digest).toBe(all[2]);
  });
});
