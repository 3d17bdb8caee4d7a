/** Stores the records of the engine's downloads in IndexedDB, where they survive a crash. */

import type { DownloadRecord } from './record.ts';
import type { EngineRecords } from './records.ts';

const DATABASE = 'engine';
const STORE = 'downloads';

export class StoredRecords implements EngineRecords {
  readonly #database: IDBDatabase;

  private constructor(database: IDBDatabase) {
    this.#database = database;
  }

  static async open(): Promise<StoredRecords> {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: 'id' });
    return new StoredRecords(await answer(request));
  }

  async all(): Promise<readonly DownloadRecord[]> {
    return answer(this.#database.transaction(STORE).objectStore(STORE).getAll());
  }

  put(record: DownloadRecord): Promise<void> {
    return this.#write((store) => store.put(record));
  }

  remove(id: string): Promise<void> {
    return this.#write((store) => store.delete(id));
  }

  close(): void {
    this.#database.close();
  }

  #write(step: (store: IDBObjectStore) => void): Promise<void> {
    const transaction = this.#database.transaction(STORE, 'readwrite', { durability: 'strict' });
    step(transaction.objectStore(STORE));
    return new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error);
    });
  }
}

function answer<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
