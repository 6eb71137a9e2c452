declare module '@20minutes/s3rver' {
  import type { RequestListener } from 'node:http';

  /** A server of S3's interface that keeps the objects in files. Its access key and secret are both `S3RVER`. */
  export default class S3rver {
    constructor(options: { directory: string; silent: boolean; configureBuckets: { name: string }[] });
    configureBuckets(): Promise<unknown>;
    callback(): RequestListener;
  }
}
