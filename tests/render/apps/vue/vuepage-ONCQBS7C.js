/*! Vue, Vue Router: Evan You, MIT. */
import{m as t}from"./chunk-HIYHWN2N.js";var i={data:()=>({text:"Loading"}),async mounted(){await new Promise(e=>setTimeout(e,1500)),this.text=(await(await fetch("/api/page?path="+encodeURIComponent(this.$route.path))).json()).text},render(){return t("article",t("p",this.text))}};export{i as default};
