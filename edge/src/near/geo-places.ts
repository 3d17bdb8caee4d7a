/**
 * Finds the places of clients and of edges in a database of the operator (`--geoip`), in the format
 * MaxMind DB 2.0, which several publishers use.
 */

import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import type { Place } from '@millrace/shared/cdn/near/places';
import { MAX_NODES } from '@millrace/shared/cdn/routing/peer-table';
import { fileWords } from '@millrace/shared/node/files/file-words';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import type { CityResponse, Reader } from 'mmdb-lib';

export interface GeoPlacesOptions {
  readonly path: string;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  readonly log: Log;
  /** For tests: gives an address of a name. */
  readonly resolve?: (name: string) => Promise<{ readonly address: string }>;
}

/** Time after which the name of an edge is looked up again. */
const NAME_MS = 10 * 60_000;
/** Databases that say nothing about places. */
const WITHOUT_PLACES = /country|asn|isp|domain|anonymous|connection/i;
/** Databases without places that say at least in which country an address is. */
const WITH_COUNTRIES = /country/i;

interface KnownEdge {
  readonly at: Millis;
  place: Place | undefined;
}

export class GeoPlaces {
  readonly #options: GeoPlacesOptions;
  readonly #edges = new LRUCache<string, KnownEdge>({ max: MAX_NODES });
  #reader: Reader<CityResponse>;

  private constructor(options: GeoPlacesOptions, reader: Reader<CityResponse>) {
    this.#options = options;
    this.#reader = reader;
  }

  /** Opens the database. @throws MillraceError `bad-option` if it cannot be used */
  static async open(options: GeoPlacesOptions): Promise<GeoPlaces> {
    return new GeoPlaces(options, await read(options));
  }

  /** Reads the file again; one that cannot be used is logged, and the old one stays in use. */
  async reload(): Promise<void> {
    try {
      this.#reader = await read(this.#options);
      this.#edges.clear();
    } catch (error) {
      const reason = (error as MillraceError).detail;
      this.#options.log.error({ reason }, '--geoip cannot be read: the old one is still in use');
    }
  }

  /** Returns the place of an address; undefined if the database does not have it. */
  of(address: string): Place | undefined {
    const { latitude, longitude } = this.#find(address)?.location ?? {};
    const isPlace = isDegrees(latitude, 90) && isDegrees(longitude, 180);
    return isPlace ? { latitude, longitude } : undefined;
  }

  /** Returns the country of an address, two capital letters; undefined if it is not known. */
  countryOf(address: string): string | undefined {
    const found = this.#find(address);
    const code = (found?.country ?? found?.registered_country)?.iso_code;
    return code !== undefined && /^[A-Z]{2}$/.test(code) ? code : undefined;
  }

  /**
   * Returns the place of an edge; undefined until its name has been looked up.
   *
   * @param url its public URL
   */
  ofEdge(url: string): Place | undefined {
    const { now } = this.#options;
    const known = this.#edges.get(url);
    if (known !== undefined && now() - known.at < NAME_MS) return known.place;
    // The old place counts until the new one is known.
    const next: KnownEdge = { at: now(), place: known?.place };
    this.#edges.set(url, next);
    void this.#locate(new URL(url).hostname.replace(/^\[|\]$/g, ''), next);
    return next.place;
  }

  #find(address: string): CityResponse | undefined {
    if (!ipaddr.isValid(address)) return undefined;
    try {
      return this.#reader.get(ipaddr.process(address).toString()) ?? undefined;
    } catch {
      return undefined; // the record is damaged, or there are no IPv6 addresses in the file
    }
  }

  async #locate(host: string, edge: KnownEdge): Promise<void> {
    const { resolve = lookup } = this.#options;
    try {
      const { address } = ipaddr.isValid(host) ? { address: host } : await resolve(host);
      edge.place = this.of(address);
    } catch {
      // The name may exist later.
    }
  }
}

async function read({ path, log }: GeoPlacesOptions): Promise<Reader<CityResponse>> {
  // Loaded only here: most edges have no such file.
  const { Reader } = await import('mmdb-lib');
  let reader: Reader<CityResponse>;
  try {
    reader = new Reader<CityResponse>(await readFile(path));
  } catch (error) {
    const isSystem = (error as NodeJS.ErrnoException).code !== undefined;
    const why = isSystem ? fileWords(error) : 'it is no database in the format MMDB';
    throw new MillraceError('bad-option', `--geoip: ${path} cannot be read: ${why}`);
  }
  const { databaseType: type, buildEpoch: built } = reader.metadata;
  if (WITH_COUNTRIES.test(type)) {
    log.warn({ path, type }, '--geoip: this file has countries only, and no places');
  } else if (WITHOUT_PLACES.test(type)) {
    log.warn({ path, type }, '--geoip: this file has no places');
  } else log.info({ path, type, built }, 'places of addresses read');
  return reader;
}

function isDegrees(value: number | undefined, most: number): value is number {
  return value !== undefined && Math.abs(value) <= most;
}
