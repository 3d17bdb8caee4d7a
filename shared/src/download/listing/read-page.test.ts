import { describe, expect, test } from '@jest/globals';
import { listedSize } from './listed-size.ts';
import { MAX_PAGE_LINKS } from './page-link.ts';
import { readPage } from './read-page.ts';

const URL_OF = 'http://h.example/pub/';
const html = (text: string, url = URL_OF) => readPage({ url, type: 'text/html', text });
/** The links of a page as `size name`, folders with "/" at their end. */
const short = (page: ReturnType<typeof readPage>) =>
  page?.links.map(({ url, size, folder }) =>
    `${size ?? '-'} ${folder}${folder && '/'}${url.replace(URL_OF, '')}`.trim(),
  );

/** As each server writes its listing of a folder `sub`, a file `a b.iso` and a file `x.txt`. */
const LISTINGS = {
  'Apache (pre)': `<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN"><html><head><title>Index of /pub</title></head><body>
<h1>Index of /pub</h1><pre><img src="/icons/blank.gif" alt="Icon "> <a href="?C=N;O=D">Name</a> <a href="?C=M;O=A">Last modified</a> <a href="?C=S;O=A">Size</a><hr>
<img src="/icons/back.gif"> <a href="/">Parent Directory</a>                             -
<img src="/icons/folder.gif"> <a href="sub/">sub/</a>                    2024-05-01 10:00    -
<img src="/icons/unknown.gif"> <a href="a%20b.iso">a b.iso</a>                 2024-05-01 10:00  1.5K  2 discs
<a href="x.txt">x.txt</a>                   2024-05-01 10:00   12
<hr></pre><address>Apache/2.4 Server at h.example Port 80</address></body></html>`,
  'Apache (table)': `<html><head><title>Index of /pub</title></head><body><table>
<tr><th><a href="?C=N;O=D">Name</a></th><th><a href="?C=S;O=A">Size</a></th></tr>
<tr><td><a href="/">Parent Directory</a></td><td>&nbsp;</td><td align="right">  - </td></tr>
<tr><td><a href="sub/">sub/</a></td><td align="right">2024-05-01 10:00  </td><td align="right">  - </td></tr>
<tr><td><a href="a%20b.iso">a b.iso</a></td><td align="right">2024-05-01 10:00  </td><td align="right">1.5K</td><td>&nbsp;</td></tr>
<tr><td><a href="x.txt">x.txt</a></td><td align="right">2024-05-01 10:00  </td><td align="right"> 12 </td></tr></table>`,
  nginx: `<html>\r\n<head><title>Index of /pub/</title></head>\r\n<body>\r\n<h1>Index of /pub/</h1><hr><pre><a href="../">../</a>\r
<a href="sub/">sub/</a>                                 01-May-2024 10:00                   -\r
<a href="a%20b.iso">a b.iso</a>                              01-May-2024 10:00                1536\r
<a href="x.txt">x.txt</a>                                01-May-2024 10:00                  12\r
</pre><hr></body>\r\n</html>`,
  lighttpd: `<!DOCTYPE html><html><head><title>Index of /pub/</title></head><body><h2>Index of /pub/</h2><table><tbody>
<tr class="d"><td class="n"><a href="../">..</a>/</td><td class="m">&nbsp;</td><td class="s">- &nbsp;</td><td class="t">Directory</td></tr>
<tr class="d"><td class="n"><a href="sub/">sub</a>/</td><td class="m">2024-May-01 10:00:00</td><td class="s">- &nbsp;</td><td class="t">Directory</td></tr>
<tr><td class="n"><a href="a%20b.iso">a b.iso</a></td><td class="m">2024-May-01 10:00:00</td><td class="s">1.5K</td><td class="t">application/octet-stream</td></tr>
<tr><td class="n"><a href="x.txt">x.txt</a></td><td class="m">2024-May-01 10:00:00</td><td class="s">12</td></tr></tbody></table>`,
  Caddy: `<!DOCTYPE html><html><head><title>/pub/</title></head><body><h1><a href="/">h</a>/<a href="/pub/">pub</a></h1><table>
<tr><th><a href="?sort=name&order=desc">Name</a></th></tr>
<tr><td></td><td><a href=".."><span class="goup">Up</span></a></td></tr>
<tr class="file"><td></td><td><a href="./sub/"><span class="name">sub</span></a></td><td>&mdash;</td><td><time datetime="2024-05-01T10:00:00Z">05/01/2024</time></td></tr>
<tr class="file"><td></td><td><a href="./a%20b.iso"><span class="name">a b.iso</span></a></td><td class="size" data-size="1536"><div class="sizebar-text">1.5 KiB</div></td></tr>
<tr class="file"><td></td><td><a href="./x.txt"><span class="name">x.txt</span></a></td><td class="size" data-size="12"><div>12 B</div></td></tr></table>`,
};

describe('a listing', () => {
  test.each(Object.entries(LISTINGS))('of %s has its files, folders and sizes', (_name, text) => {
    const page = html(text);
    expect(page?.isListing).toBe(true);
    expect(short(page)).toEqual(['- sub/', '1536 a%20b.iso', '12 x.txt']);
    expect(page?.links.map(({ isFolder }) => isFolder)).toEqual([true, false, false]);
  });

  test('of Python has no sizes', () => {
    const text = `<!DOCTYPE HTML><html><head><title>Directory listing for /pub/</title></head><body>
<h1>Directory listing for /pub/</h1><hr><ul><li><a href="sub/">sub/</a></li><li><a href="a%20b.iso">a b.iso</a></li></ul>`;
    expect(short(html(text))).toEqual(['- sub/', '- a%20b.iso']);
  });

  test('sorted by another column is the same one', () => {
    expect(short(html(LISTINGS.nginx, `${URL_OF}?C=M;O=D`))).toHaveLength(3);
  });

  test('of nginx or Caddy in JSON has exact sizes, and no way out of its folder', () => {
    const entries = [
      { name: 'sub', type: 'directory' },
      { name: 'a b.iso', type: 'file', size: 1536 },
      { name: 'c#?.bin', is_dir: false, size: 7, url: 'http://evil.example/' },
      { name: 'deep/', is_dir: true, size: 4096 },
      ...['..', '.', '', '\ud800'].map((name) => ({ name, type: 'file', size: -1 })),
      { name: '../up', type: 'file' },
    ];
    const page = readPage({ url: URL_OF, type: 'application/json', text: JSON.stringify(entries) });
    expect(short(page)).toEqual([
      ...['- sub/', '1536 a%20b.iso', '7 c%23%3F.bin', '- deep/', '- %EF%BF%BD', '- ..%2Fup'],
    ]);
    expect(readPage({ url: URL_OF, type: 'application/json', text: '[1]' })).toBeUndefined();
    expect(readPage({ url: URL_OF, type: 'application/json', text: '{"a":1}' })).toBeUndefined();
  });

  test('of nginx in XML has exact sizes, and no way out of its folder', () => {
    // As nginx 1.22 writes it, with a pipe in the folder.
    const text = `<?xml version="1.0"?>\r\n<list>\r
<directory mtime="2024-05-01T10:00:00Z">sub</directory>\r
<file mtime="2024-05-01T10:00:00Z" size="1536">a b.iso</file>\r
<file mtime="2024-05-01T10:00:00Z" size="7">c#?&amp;&lt;.bin</file>\r
<other mtime="2024-05-01T10:00:00Z">pipe</other>\r
<file mtime="2024-05-01T10:00:00Z" size="-1">../up</file>\r
<file mtime="2024-05-01T10:00:00Z">..</file>\r\n</list>\r\n`;
    const page = readPage({ url: URL_OF, type: 'text/xml', text });
    expect(page).toMatchObject({ isListing: true, truncated: false });
    expect(short(page)).toEqual([
      ...['- sub/', '1536 a%20b.iso', '7 c%23%3F%26%3C.bin', '- ..%2Fup'],
    ]);
    for (const other of ['<list><file>x', '<list/>x', '<lists/>']) {
      expect(readPage({ url: URL_OF, type: 'text/xml', text: other })).toBeUndefined();
    }
  });

  test.each([
    ['in the path', 'http://s3.example/pub/?list-type=2&prefix=d%2F', 'http://s3.example/pub/'],
    ['in the host', 'http://pub.s3.example/?list-type=2&prefix=d%2F', 'http://pub.s3.example/'],
  ])('of a bucket that is named %s has keys below the prefix', (_where, url, root) => {
    const text = `<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>pub</Name><Prefix>d/</Prefix><IsTruncated>true</IsTruncated>
<Contents><Key>d/a b.iso</Key><Size>1536</Size></Contents><Contents><Key>d/e/f.iso</Key><Size>7</Size></Contents>
<Contents><Key>d/</Key><Size>0</Size></Contents><Contents><Key>d/../../x</Key><Size>1</Size></Contents>
<CommonPrefixes><Prefix>d/sub/</Prefix></CommonPrefixes></ListBucketResult>`;
    const page = readPage({ url, type: 'application/xml', text });
    expect(page?.truncated).toBe(true);
    expect(page?.links).toEqual([
      { url: `${root}d/a%20b.iso`, isFolder: false, folder: '', size: 1536 },
      { url: `${root}d/e/f.iso`, isFolder: false, folder: 'e', size: 7 },
      { url: url.replace('d%2F', 'd%2Fsub%2F'), isFolder: true, folder: '' },
    ]);
  });
});

describe('a page that came through an edge', () => {
  const EDGE = 'http://edge.example:3125/';

  test('has its links through the edge, as the origin means them', () => {
    const found = short(html(LISTINGS.nginx, EDGE + URL_OF));
    expect(found).toEqual([`- ${EDGE}sub/`, `1536 ${EDGE}a%20b.iso`, `12 ${EDGE}x.txt`]);
    const links = `<a href="/top.iso">t</a><a href="${EDGE}${URL_OF}own.iso">o</a><a href="https://m.example/c.zip">c</a>`;
    expect(html(links, EDGE + URL_OF)?.links.map(({ url }) => url)).toEqual([
      `${EDGE}http://h.example/top.iso`,
      `${EDGE}${URL_OF}own.iso`,
      'https://m.example/c.zip',
    ]);
  });

  test('of a bucket has its keys and its further pages through the edge', () => {
    const text =
      '<ListBucketResult><IsTruncated>true</IsTruncated><Contents><Key>d/x y</Key></Contents></ListBucketResult>';
    const page = readPage({ url: `${EDGE}http://b.example/?prefix=d`, type: undefined, text });
    expect(page?.links.map(({ url }) => url)).toEqual([`${EDGE}http://b.example/d/x%20y`]);
    expect(page?.next).toBe(`${EDGE}http://b.example/?prefix=d&marker=d%2Fx+y`);
  });

  test('is not every page whose folder looks like a host', () => {
    const url = 'http://h.example/v1.2/pub/';
    expect(html('<title>Index of x</title><a href="a.iso">a</a>', url)?.links).toEqual([
      { url: `${url}a.iso`, isFolder: false, folder: '' },
    ]);
  });
});

describe('a listing of a bucket', () => {
  const bucket = (url: string, inside: string) =>
    readPage({
      url,
      type: 'application/xml',
      text: `<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${inside}</ListBucketResult>`,
    });
  const urls = (page: ReturnType<typeof readPage>) => page?.links.map(({ url }) => url);

  test('as AWS documents it, with a prefix and a place to start after, has its file', () => {
    const page = bucket(
      'https://quotes.s3.us-west-1.amazonaws.com/?list-type=2&max-keys=3&prefix=E&start-after=ExampleGuide.pdf',
      `<Name>quotes</Name><Prefix>E</Prefix><StartAfter>ExampleGuide.pdf</StartAfter><KeyCount>1</KeyCount>
<MaxKeys>3</MaxKeys><IsTruncated>false</IsTruncated><Contents><Key>ExampleObject.txt</Key>
<LastModified>2013-09-17T18:07:53.000Z</LastModified><ETag>&quot;599bab3ed2c697f1d26842727561fd94&quot;</ETag>
<Size>857</Size><StorageClass>REDUCED_REDUNDANCY</StorageClass></Contents>`,
    );
    expect(page).toEqual({
      isListing: true,
      truncated: false,
      links: [
        {
          url: 'https://quotes.s3.us-west-1.amazonaws.com/ExampleObject.txt',
          isFolder: false,
          folder: '',
          size: 857,
        },
      ],
    });
  });

  test('as AWS documents it, with a delimiter, has its folders, which begin at their own beginning', () => {
    const page = bucket(
      'https://example-bucket.s3.amazonaws.com/?list-type=2&delimiter=%2F&continuation-token=t%2Bx%3D&start-after=b',
      `<Name>example-bucket</Name><Prefix></Prefix><KeyCount>2</KeyCount><MaxKeys>1000</MaxKeys><Delimiter>/</Delimiter>
<IsTruncated>false</IsTruncated><Contents><Key>sample.jpg</Key><LastModified>2011-02-26T01:56:20.000Z</LastModified>
<ETag>&quot;bf1d737a4d46a19f3bced6905cc8b902&quot;</ETag><Size>142863</Size><StorageClass>STANDARD</StorageClass>
</Contents><CommonPrefixes><Prefix>photos/</Prefix><Prefix>a b/</Prefix></CommonPrefixes>`,
    );
    const root = 'https://example-bucket.s3.amazonaws.com/';
    expect(urls(page)).toEqual([
      `${root}sample.jpg`,
      `${root}?list-type=2&delimiter=%2F&prefix=photos%2F`,
      `${root}?list-type=2&delimiter=%2F&prefix=a+b%2F`,
    ]);
  });

  test('goes on with its token, which is not encoded, or with its marker, which is', () => {
    const v2 = 'http://b.example/?list-type=2&encoding-type=url';
    const token = '1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=';
    const more = '<IsTruncated>true</IsTruncated><EncodingType>url</EncodingType>';
    const file = '<Contents><Key>a%2Fb+c</Key><Size>1</Size></Contents>';
    const next = (url: string, inside: string) => bucket(url, more + inside + file)?.next;
    expect(next(v2, `<NextContinuationToken>${token}</NextContinuationToken>`)).toBe(
      `${v2}&continuation-token=${encodeURIComponent(token)}`,
    );
    expect(next('http://b.example/?marker=x', '<NextMarker>a%2Fd</NextMarker>')).toBe(
      'http://b.example/?marker=a%2Fd',
    );
    // Without a delimiter, ListObjects names no marker: it is the last key.
    expect(next('http://b.example/', '')).toBe('http://b.example/?marker=a%2Fb+c');
    expect(next(v2, '')).toBeUndefined();
    expect(bucket(v2, more + file)).toMatchObject({ truncated: true });
  });

  test('with encoded keys has their names; a prefix may be encoded or not', () => {
    const encoded = (prefix: string) =>
      urls(
        bucket(
          'https://h.example/v1/s3/b/?encoding-type=url',
          `<Name>b</Name><EncodingType>url</EncodingType><Prefix>${prefix}</Prefix>
<Contents><Key>d+1%2B/test_file%283%29.png</Key><Size>1</Size></Contents>
<Contents><Key>d+1%2B%2F%E8%85%BE.png</Key><Size>1</Size></Contents>`,
        ),
      );
    const found = ['test_file(3).png', '%E8%85%BE.png'].map(
      (name) => `https://h.example/v1/s3/b/d%201%2B/${name}`,
    );
    expect(encoded('d+1%2B%2F')).toEqual(found);
    expect(encoded('d 1+/')).toEqual(found);
  });
});

describe('another page', () => {
  test('has all its links of the web, each once, from its base on', () => {
    const page = html(`<!doctype html><base href="https://cdn.example/v1/"><title>Downloads</title>
<a href="a.iso">A</a> <a href='a.iso#x'>again</a> <a href="//m.example/b.iso?x=1&amp;y=2">B</a> <a href="mailto:a@b">m</a>
<a href="javascript:alert(1)">j</a> <a href="#top">t</a> <a href="ftp://f.example/c">f</a> <a href=" /d.zip ">D</a>
<script>"<a href='http://no.example/'>"</script><!-- <a href="no"> --> <a name=x>n</a><a href="http://[">bad</a>`);
    expect(page?.isListing).toBe(false);
    expect(page?.links.map(({ url }) => url)).toEqual([
      'https://cdn.example/v1/a.iso',
      'https://m.example/b.iso?x=1&y=2',
      'https://cdn.example/d.zip',
    ]);
  });

  test('is told from files and from other documents', () => {
    expect(readPage({ url: URL_OF, type: 'text/plain', text: '<a href="x">' })).toBeUndefined();
    expect(readPage({ url: URL_OF, type: undefined, text: 'PK\u0003' })).toBeUndefined();
    expect(readPage({ url: URL_OF, type: 'text/xml', text: '<rss/>' })).toBeUndefined();
    expect(html('')?.links).toEqual([]);
  });

  test('of a stranger is bounded in its links', () => {
    const page = html(
      Array.from({ length: MAX_PAGE_LINKS + 5 }, (_, i) => `<a href=${i}>`).join(''),
    );
    expect(page).toMatchObject({ isListing: false, truncated: true });
    expect(page?.links).toHaveLength(MAX_PAGE_LINKS);
  });
});

test.each([
  ['  2024-05-01 10:00  1.2G ', Math.round(1.2 * 1024 ** 3)],
  ['   -  ', undefined],
  ['01-May-2024 10:00   123', 123],
  ['5 B', 5],
  ['34 KiB 05/01/2024', 34 * 1024],
  ['2.0MB', 2 * 1024 ** 2],
  [' (signature)', undefined],
  ['2 discs', 2],
  ['999999999999P', undefined],
  ['', undefined],
])('beside a name, %j is read as %p', (text, bytes) => {
  expect(listedSize(text)).toBe(bytes);
});
