declare module '*.node' {
  const path: string;
  export default path;
}
