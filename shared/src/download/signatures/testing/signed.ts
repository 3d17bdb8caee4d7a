/** Keys of publishers that exist in tests only, and what they have signed. */

/** Public key of "Fixed Publisher", made by GnuPG 2.2. */
export const OPENPGP_KEY = `-----BEGIN PGP PUBLIC KEY BLOCK-----

mDMEaVW5ABYJKwYBBAHaRw8BAQdA6eY+e2dUOgKOOVMYbYOeEuuGjTmjPuTco6lj
WH4qo860H0ZpeGVkIFB1Ymxpc2hlciA8dEBleGFtcGxlLm9yZz6IkAQTFggAOBYh
BDAh6kDwcvxZ7T5UUug1SA27W0bPBQJpVbkAAhsDBQsJCAcCBhUKCQgLAgQWAgMB
Ah4BAheAAAoJEOg1SA27W0bP1y8BAMei8G22caZp7ZcgbI4FupDbtyHxzuF1s8KO
2kh12YioAP4qtIt0CiY35AtLWQwvNVYMJiva0cLNXNt6vO+UIu/wCQ==
=yDPX
-----END PGP PUBLIC KEY BLOCK-----
`;

/** A key, a file and its signature, made by minisign 0.11. */
export const MINISIGN = {
  file: 'the signed file\n',
  key: 'untrusted comment: A publisher\nRWSISqkko12VPHpxnTFi3KtH5Crh9b8lOxDdmMzoizHyilfjoiL4qaig\n',
  signature: `untrusted comment: signature from minisign secret key
RUSISqkko12VPD/kDeNr7BA5dSFwbIaYOAIQl7OWdFs8ho/K4VysCLt5Za1ie4IUJvsGFl8TA7Sxc2T/HdyagHM58WpzylXTfQc=
trusted comment: file:f.txt
U+EatSPE0ppgAxyl2FAadn8ZEJz/eXTyTs2y1ZRF33RkbCTwSAaCJJ9HZFoAZZZ/V2+ebgPeWtOpuCMW0OipBg==
`,
} as const;

/** Public key of "Second Publisher", and its signature of three million bytes, made by GnuPG 2.2. */
export const SECOND = {
  fingerprint: '73CDE0BFBC043032CDC917B7EDC97EF1B49ECE94',
  key: `-----BEGIN PGP PUBLIC KEY BLOCK-----

mDMEaVW5ABYJKwYBBAHaRw8BAQdAlJsjG6uv/K97OT5iC0KfPajC52iRAcCSyJAS
juSPZg20JVNlY29uZCBQdWJsaXNoZXIgPHNlY29uZEBleGFtcGxlLm9yZz6IkAQT
FggAOBYhBHPN4L+8BDAyzckXt+3JfvG0ns6UBQJpVbkAAhsDBQsJCAcCBhUKCQgL
AgQWAgMBAh4BAheAAAoJEO3JfvG0ns6U4dsBAPLG0ckjWwdoIs+MpxJ0s1nbUDwL
+wGDVd9FhwAGv+nDAQCwdSZ+LGdkn8EnqMog5ihkfu8C4iKJ0QscN17ytkRVBg==
=FyUO
-----END PGP PUBLIC KEY BLOCK-----
`,
  /** Of `contentOf('metalink-signed', 3_000_000)` of the end-to-end tests. */
  signature: `-----BEGIN PGP SIGNATURE-----

iHUEABYIAB0WIQRzzeC/vAQwMs3JF7ftyX7xtJ7OlAUCaVcKgAAKCRDtyX7xtJ7O
lNHkAP0cCic1jyNDxGGG+jvg1GXAHMRH2eTB3TTwEWFzVIYzgAEA9wIBhk8tEzSh
0GKGZjt0TZzgovM3J7gwxy5enIn/XgQ=
=avq8
-----END PGP SIGNATURE-----
`,
} as const;
