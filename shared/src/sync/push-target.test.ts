import { describe, expect, test } from '@jest/globals';
import { parsePushTarget, parsePushTargets } from './push-target.ts';

describe('targets of a push', () => {
  test.each([
    ['web1:/srv/site', 'web1', '/srv/site'],
    ['user@web1:site', 'user@web1', 'site'],
    ['[2001:db8::1]:/srv', '2001:db8::1', '/srv'],
    ['user@[::1]:/srv', 'user@::1', '/srv'],
    ['web1:/a:b', 'web1', '/a:b'],
    ['web1:/it\'s $HOME `x`\nnew "line"', 'web1', '/it\'s $HOME `x`\nnew "line"'],
    ['web1:-x', 'web1', '-x'],
    ['web1:~/site', 'web1', 'site'],
    ['web1:~', 'web1', '.'],
    ['web1:~/', 'web1', '.'],
  ])('%j is a folder of a host', (name, host, dir) => {
    expect(parsePushTarget(name)).toEqual({ name, host, dir });
  });

  test.each([
    ['/srv/site', 'it is not HOST:DIR'],
    ['web1', 'it is not HOST:DIR'],
    ['a/b:/srv', 'a host has no such characters'],
    [':/srv', 'the host is missing'],
    ['user@:/srv', 'the host is missing'],
    ['[]:/srv', 'the host is missing'],
    ['web1:', 'the folder is missing'],
    ['-oProxyCommand=x:/srv', 'no host begins with a dash'],
    ['user@-x:/srv', 'no host begins with a dash'],
    ['-x@web1:/srv', 'no host begins with a dash'],
    ['a b:/srv', 'a host has no such characters'],
    ['web\n1:/srv', 'a host has no such characters'],
    ['web1:~bob/site', "another user's home is written as a full path"],
    ['web1:/a\0b', 'a folder has no such characters'],
  ])('%j is refused', (name, why) => {
    expect(() => parsePushTarget(name)).toThrow(why);
  });

  test('one folder cannot be given twice', () => {
    expect(() => parsePushTargets(['a:/x', 'b:/x', 'A:/x/'])).toThrow('"A:/x/": it is given twice');
    expect(parsePushTargets(['a:/x', 'b:/x', 'a:/y'])).toHaveLength(3);
  });
});
