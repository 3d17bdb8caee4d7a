/**
 * Recognizes signed and one-time URLs. Each request to them may count, so nothing is fetched twice
 * from them, and they are neither shown nor passed on if that can be avoided.
 */

/** Query parameters of common signing schemes, in lower case. */
const SIGNING: ReadonlySet<string> = new Set([
  'x-amz-signature', // Amazon S3, version 4
  'x-goog-signature', // Google Cloud Storage
  'x-oss-signature', // Alibaba Cloud
  'x-tos-signature',
  'x-obs-signature',
  'signature', // CloudFront, S3 version 2
  'sig', // Azure's shared access signature
  'hmac',
  'hdnts', // Akamai
  'hdnea',
  '__token__',
  'token',
  'access_token',
  'auth',
  'auth_key',
  'key-pair-id',
  'ticket',
  'otp',
  'once',
  'nonce',
]);

/** Returns true if the URL looks valid only for this user, for a time, or once. */
export function looksSigned(url: string): boolean {
  const parameters = new URL(url).search.slice(1).split('&');
  return parameters.some((pair) => SIGNING.has(pair.replace(/=.*$/s, '').toLowerCase()));
}

/** Query parameters of URLs that work only once, in lower case. */
const ONE_TIME: ReadonlySet<string> = new Set([
  'nonce',
  'once',
  'one-time',
  'onetime',
  'otp',
  'ticket',
]);

/** Returns true if a second request for the URL would probably be refused. */
export function looksOneTime(url: string): boolean {
  const parameters = new URL(url).search.slice(1).split('&');
  return parameters.some((pair) => ONE_TIME.has(pair.replace(/=.*$/s, '').toLowerCase()));
}
