"""Letters for pictures: two sizes of Aileron (public domain, CC0), rendered once to grey pixels.

A picture without text explains nothing, and drawing outlines needs a library; 95 characters of two sizes, packed,
are a few kilobytes. Characters outside ASCII are drawn as `?`.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass
from functools import cached_property, lru_cache

FIRST, LAST = 32, 126
LEVELS = 15
"""Darkest value of a pixel; 0 is paper."""


@dataclass(frozen=True)
class Font:
    """A size: the height of a line, how wide each character is, and all their pixels, column by column."""

    height: int
    widths: tuple[int, ...]
    packed: str

    @cached_property
    def glyphs(self) -> tuple[bytes, ...]:
        """Pixels of every character, column by column, one byte each."""
        raw = zlib.decompress(base64.b85decode(self.packed))
        pixels = bytes(nibble for byte in raw for nibble in (byte >> 4, byte & 15))
        found, start = [], 0
        for width in self.widths:
            end = start + width * self.height
            found.append(pixels[start:end])
            start = end
        return tuple(found)

    def width(self, text: str) -> int:
        """How wide a text is, in pixels."""
        return sum(self.widths[_place(letter)] for letter in text)

    def columns(self, text: str) -> bytes:
        """A text's pixels, column by column, each `height` long."""
        return b"".join(self.glyphs[_place(letter)] for letter in text)


@lru_cache(maxsize=1)
def fonts() -> tuple[Font, Font]:
    """The body size and the title size."""
    return Font(*_BODY), Font(*_TITLE)


def _place(letter: str) -> int:
    code = ord(letter)
    return (code if FIRST <= code <= LAST else ord("?")) - FIRST


_BODY = (
    25,
    (
        4,
        5,
        7,
        11,
        12,
        15,
        13,
        4,
        6,
        6,
        11,
        12,
        4,
        6,
        5,
        6,
        12,
        12,
        12,
        12,
        12,
        12,
        12,
        12,
        12,
        12,
        5,
        5,
        12,
        12,
        11,
        11,
        17,
        13,
        13,
        14,
        14,
        12,
        12,
        14,
        15,
        5,
        11,
        12,
        12,
        17,
        14,
        15,
        12,
        15,
        12,
        12,
        13,
        13,
        12,
        19,
        13,
        12,
        12,
        6,
        6,
        6,
        12,
        10,
        6,
        11,
        12,
        11,
        13,
        11,
        7,
        13,
        11,
        4,
        4,
        10,
        5,
        17,
        11,
        12,
        12,
        13,
        6,
        9,
        7,
        12,
        10,
        16,
        10,
        10,
        10,
        6,
        5,
        6,
        12,
    ),
    "c-plZYj9N6`P{qDJa<JN@~By;<so2}!Kp2XES*lLiki^z2kPjCPTL<XvaxkKoe@bur~RRjfaO<(MSRd13yap*bc!2Bs$wY{0p+FM"
    "h*iSF+yt_DZT5aW_nz0cn9c46dM1;clkeVhzW3`~LauUDchS+&w8L3|J*ohKA8IUqD}Zji?Z^)W0BuiC&c9tvL{2Yjz2AFUZ1AfD"
    "9Bgo=-`{4vofiLoyDnVw`{y_Y+Td>M?VmYQ-yYaiC$`!Zp<5|j!bMW{82`H|+du*tHg5rFB%Asfs?WP2NN#Mm=ePAPT-3jCVSE82"
    "mW^h*@LVREMfYHD91E6Zf=e0OqXXndfJ<!OMGfR;^W6dnO*UVX^Kt<D;Cg2<NTOk)CmDII^hlq@013#FC4)i6o$Z<Fadm{(Y>@ML"
    "L)UFQ5#$seBXJmXrf#E|1lCVs+|7gt=_he#?qLY*kQ+>a=L_@GXMRlhzF+wPE<1A<K)R1a*;dJL`4A!786C}}wt;xr;eEswV2mkQ"
    "qpc)92Ka^61zlYhKcUv<`d+?3BF|APa<wWt@|d~XgbPnG_N3nWQE=Q!V~b7nCycL)Y<xrfS=}a_^PAY1#h!Jh6An9%W?#PV)|JWQ"
    "jEegY!#BIarQvcDntR)I^>*N<^J1#cc;#zk#F$xsJr`7r8+Td>uw7EXXee!98RQer!dv?mhLuE+O!A5|2Qb>0WFTo<$i;nfZE!Cd"
    "lO|<2q&UBOm-4Z9!b>Ahh0N|W<&*@}^vdx=1G3K&;nge?2G~4C6;^ws&zV;`zOAaA+n@tx`#QdZ8|QzV-=8sU%dR41qQP7XHS#Xz"
    "1#NwQ4&Y#zjB#jLv`8SHFWsx=m6vkj5=i}V!rd5bT8!IldYU+|Y~R?zD385Bf5n+vRoRFnwsuQiC7Ywdk!h)B4+Eqk9<z}!fSaP%"
    "Ksdl{oTs)GEd?uTfu5~=eh=NHiN~l~>O;w57Ng3~APII7Z3D$!NU*kEc+pPcqg3s4<`wA)RxfE{Qd<hvEdXDzeeXUMnhQINKrD*n"
    "6IV8&8%l5<SRnyZhC|YdmJBE>iXBzv#batW_s(5irqxxF-HrQ6kn^f+AC0;-8D<#p;h%;CuLAYt6`}JaZ7;dZ1N9nBI5@8;fST_i"
    "@kV0H^@#=!&`c2%Jt3lPyx33(DbH@Ogb6PJ`t}f);DLEN$y_eM_HwFO6%4DhB#msare0!oj$EL8_>>XY@6Rk7Z?FuYHa!ib4bBOB"
    "-#Jw%5~gubbT-lVD!|Pk0a|=GA^?-%WBJA!OAwy+7-!{H+hDyi&Ozmu0y~TK0r3p?9}i_CNq`VnQHa%hS;A6rSxdE&@(!-lt~Byj"
    "RNK9RS8n?FZpPj8^+x}=mPV02+#$7n@rCf@&o&pr=?VBdIml_DDD_rbY|*rt#M*CQSXH&rb%<j{g{t=otmv_|As+)!jq<l?=a?7G"
    "ESP=t2Yf5Pt@y({@VcJ){PdFrIaNka@eK)HQ`Iqe{P0mJd5-6M&ApvH7H_l-j>Ut3?Rc|XpifY#yGrz((N+}fk}7}j^n9oQC)~<)"
    "M}w6zK2|l8I`N9PhY<P735xBdF_%ADFLD_*5f#I)A)vT%648-EAf<e1NU@|sr3@!rmk<;GF*0{^*j~g~tP%`r25Mf8y@9QqGr3;b"
    "89-CFA>s##ALn{ik-k3ls*KLKNLYNjDCX!JAtM}!e`uM$W<N*eOZsbC8`I-U?tLeNHICWp=`w%}*~n@&UuM~)9>&tDR*G;<sMc{B"
    "Y3i8#?fPXVrp$L&_j1kZ^HTHb@H<9W*_wb%GStaTc*?G@))QkqwUgl0K8BY5*@|(SWG1r~&WG~S;#O1F_HIO>FiveP4At}LgOEwf"
    ">TamMmj9nncdE;R7v2m?z{DgRRPvdag5wI4Nhx?=9X>0C<V$81tb|morPY=FBYZp6Z;yzBw&F*>4d_RHx8jVJY$atZctruCt0wU@"
    "^O0;M0hWpa8&3ucDaInxdPAlaG+GYxHxdVe+H#&BM(s%FXOWY|%*r<5cV!Njlf5#0Hlcj?Mi%a3wieIh#+{_DJi$>X>)J@gzoY{w"
    "sz;)7(SYToFWo5CMp3Nwi~w-doCo@Ui(p~@%Sp+bm{wK|MaYB{&xYsQ$BB~M`wpBh$t_)hE={$}0x};HV2c3gjv)1hQnBI*eHtZz"
    "><pR7lnx-Pq?HDX*TfLk#GukdAJ@b-rCsFg6`HsJX(GjB8`H!uY!qu5OJc`J&9XH-hf57=09FUjh+1n@ja;fG+Eo#ts;KlDw=f{*"
    "419R$<69*_SH5mzF2(QSV*4_J)S=RmS4G@lu(RBbA`@<y^3I)8T7I+hD(Eml(cvCeO6LXD4e$+{vccxh=*AI|=nWDr!5Lp+yQdbW"
    "aFx!VXg4a{?<kqOSWrI9lBR11m|0pVk}?lie@5}lP>m2f*5MV6k!Up`sSekEBMH>k!U-PGT^r#<NTkE?z6_}FR_JOqF@H1=_HkgO"
    "V#g`mXqlnZuvn0&)y9DC1EwrYwIp-_FPBN`bwZX8^ZL9|#vmSL3&mOt$ay2?gzdg>pFs}?c{sVtv|b#u%K)co&?TI{@>gl(uW|qs"
    "pIQN^Y9$_-cgG(c|BVzBE!!o}wdYRdX>ob>z<H6kO|{!?JV&m~M2I`dxZv$a@%#|_os$9N^x-hzpNxBKD<@ZJ>0zG1Il~C^Ry`eC"
    "2Dyq;tRnt~vFk3VAe@JZIe-SDrBO8z6&|>}|GI~bbB_f@8U9gRgo&GJ4enamJ~B2p2%}AP5}h|WTtF*VpUHT=C$zMOXcq;qC~N(K"
    "iF!s}DC{6rJ%m*NB))+(z3O7=xn^{0hUhbpwM0)07ieGx>PKy)6awV+4C$*nV|4ql))UoLgO9K?X-3cP%NHQAZ?8atnmnKaq{)*a"
    "hrG@a5-ZHtKqp!yr8~CWcLJ9<?%dUOXhVgUsXXa}(4nS75mjvoemw}oGV2Ruf2(%+ImRlxRpGrG;N&uSz{(U1Kc$X-9H%&XT=Ht>"
    "9yrP0xZi-6IqKVB_;>P*3`(fLdRbDZ{WJyV6*l9a0c$Hkz-|me?|i^GIbj=pJ}6|KQ5$^_$s>uQ*oE7I)Kg5fw`apNGvSKigXXDO"
    "AuK)lc|Veyn(N8KLqV0)Ot$!;bF(4hfz9d+Ey)D+U*zF<Qp-4jFBt>qFcPzn?oY-kpPodmMsg3R>uR@Q$v8My<yu-?z2L_?;Uj#b"
    "JAfsqh-)$=Ku`Tr0=(I<tcs=%1!Ywf?UUuwio{V_4-Pu{9|u5#Dij&}N5404E#!j|rishxUX-TWe}%_({%W|S2;i9e0Q@=MO1olZ"
    "<*XcZh0QFx^6)-};H?f;0>u)0X~=7MQtIS&LlQ72`>2u>O14Py1+<uxU4;-|H;AKn+nBnI*QS;tCEaOPVlR6bL+Zys!+lyp*sx|a"
    "r$8_zzF}$ORPJ7@o4p;}YV82~H1YFjP`$rwujeaKXjx!dBJOXxq8`*j#pH7!;uTmRe7k-+MCJ<a>{gkj{kedOQGF<QRkz9fiehzu"
    "CJ}-$DSCu#pRQJMBL8qFRkzJgu^JZoLeufZqHScKRnb9IS}b^Fdoq3tKq_ef)-H%9?$^X?3hj-xlZ3=%e7^g48p|4RYhu6H>RpN?"
    "ciRqY4v)YRC!Jh}(5>R#TlWRZ-6NdsCMA$HAOd5l=qaz>lNS~C)rRENg5DeY<>57v@^*oh){A&m6H&a<dNuKRLS1L<$A++ohoQGc"
    "vcdg_8Ntyny4>%WmZ*wcfQp8uh)SwxmR(d*MLafve++U0sWN<rWj`L8JuV-ZJs`PT*}?K9t_(4x3@oL01a*q1UUjb#ecyDJlU12i"
    "v|T(|bI`Rm7cBrxU^VMMh&VX^b=3ODzV2&mh4?E4134itSZXV;0r=Cf5gp^jfKs1nI||&<PwiH3I7-9c=(-Rp!DZOwc8t_+@xYfV"
    "yk}x*)ovkm!h-FulWyU+?8J6~(>Q@;4m984gQ)U0F-u~Y8R2}Q68;L1pzcK>stU`a56!EO;06~U?#7YT-utX#LS=Klt@fiuJbUQS"
    "p*E2&VF#eim@y+%R8h_sT_D@IME?}&(%<mmxIo2eU)7hGnV7&wigHWKK_%QR>YAL?9U~roe@-gCKn}Sd^{;YVxP4{BOG{F5hSDP5"
    "SbBE)EHffe1dz1M`TS(4pn2MMF4ENb)Bz;<R*r8J!Ru^3tS+KB=pT-d+l5wFO0BdlH3e@J_8R~9z(R-<Shx&J4=s81%7s2>BcJAT"
    "WVQlIdBg`uOk7+xL7&UuPgd=%ZRg)R*#x$PWirw18jx&HK3aWwK4-fQkr)WJ>rax^$43uEWStX=4)9dM86B#&&=TkkZ+8(a$%+8x"
    "_&$`%xbY`de!SHhT+#19=5j=CWr{0^T(;*O$AcKFH-flZ`y%e$S{w4*TFz1x{cJ;~WU~#G(i`aAoSNlC7$1IK@nB{WGRl#<9+$aD"
    "zQUdS+Ei_Tz!2&W;0}OY-lNKzR^Nz@yCkn%Yvo0^HwowD3xM$TVHaVSfI8Q!z*lzpE&R$*aGtEgr&uk@N4nvRqR%jn${N{<#6+E2"
    "O*8v>)(Cp#RDUAR9ExBjc7|lt=}y3VLD4?5S1*Y>US}oUjJ6s?m8Gq<UlFbMPSs>bhg7Z_rNnj_3SFPzE(OdRj7mT(?Gb<#$s@8v"
    "9yD8t1lZnK0Bi<&3R#q@z&z%g)Bp17%smdT&yC+UJjHrxqTO!|a2lNN4p#7|S6sQzLOIX}<D=$Fc&nT<@ZlcwErk^+;p12}?nZZH"
    "f%SPJZ&?po+=wsIV#v}bp{Hs-9{t$=0oYU@Gy",
)
_TITLE = (
    34,
    (
        6,
        7,
        9,
        16,
        15,
        20,
        18,
        5,
        9,
        9,
        15,
        15,
        6,
        8,
        5,
        8,
        16,
        16,
        16,
        16,
        16,
        16,
        16,
        16,
        16,
        16,
        5,
        5,
        16,
        15,
        16,
        13,
        23,
        17,
        17,
        19,
        20,
        16,
        16,
        19,
        20,
        8,
        15,
        17,
        16,
        24,
        20,
        20,
        17,
        19,
        17,
        15,
        17,
        19,
        17,
        26,
        17,
        16,
        16,
        9,
        8,
        9,
        16,
        13,
        8,
        15,
        16,
        14,
        17,
        15,
        9,
        17,
        16,
        6,
        6,
        14,
        7,
        23,
        16,
        16,
        16,
        17,
        9,
        12,
        9,
        16,
        14,
        21,
        13,
        14,
        13,
        8,
        7,
        8,
        16,
    ),
    "c-q}ueQ;dWb-!;{(#p1Et>akO;MmJF;{=Q=L1q#IwWaAFA+!z>%ycLYAmjYeG!RyS(lT|-3X;Zd3#>Dw8DxW3BtXUqup$JeOgpRy"
    "El@hc6LuPGX3A3`wEjr+HkM^ct9|eE-uH3uJ?Gipm9(;P?u_hxXWzRY=lt&Zyl)x%__Th%vD~hJ0DfaoBm{X!4O)xn@Qj27Vp3-$"
    "RPJNet+|LUrvzcmE<~6#LA$B^7{H;ghF7saH^JGfeQm>gCEkZ|%|Jl-@#VaaRV52Xv_75%c=LwvD*kl~rXSY&;9pLmiTxnOrlK>g"
    "NvpeCevB931;!fT7a^gCbGefxz)kws1{{4H{)e$kpwA~XmXj<q!9Qe&eL~X-&QXVdSY4EI3Y$k+Y`deQqrm@c*Jnu6IOie^$Vd2i"
    "os8vqulaz5hUIQyZE)y0Xb&cK8J|Es@A9Oa`{pf-U20Ev&S2qY8Q<LnZ~_s`BYVppUxq`uBn^Q&BUi+PTcI00vKF2|ohIPdXxO+l"
    "nbZd|a!xxM`Bvy{-Jy}z!Y}x8OY%CwSKh|g-y2HKDkWL=XR%y}v7F0iluxq7a;D!C)Na-m5)OC*p56_E`oK-RQ#_T2;b(J&Sc6sG"
    "A}=<<4_OXiQho{Gw!+JKNCkv8_b2w_V_fI~##r`Mwn(hBYbYRC?JO>CZwXfm0-6F`;o_X&Pi`4EAjmuHfFS$$nzwe|h7dD&8&C`B"
    "2cbZ9*f?~t&U`D!8g2W(eIMNakSd5>$;Tb#f3GJ)#2pbj?vvYKA`sIf!JVz9w;dAqtG<S+8?*5R1z?Zub?{O!+<M!G;R-1K-4)4C"
    "T=N|KQV!=!;Ssf4zVy@o{?8w@&%eE_qgF66#_ABkm|z)v(=!)Nr?kt@eJ=ez(lUG{$4ReU`Cd%;mxP0!iA}IBbW7uLW}qixTjpc^"
    "PR$9LA@G}T3r1=_Y*o#;gZK~yC}RSY2+R&A=g3p*tPrYd5ho9dmF|eN&mKgV@rU3e{d&FSej9&%xE+1%psyc>gZkHvHu{<?$AhWL"
    "%i8=lxNmi<>pMNnxpIdz0=(6~+f){)!}kL=Ny8WV9pV4X4y3+%L^CH$Hzy&GT0(*q?BK4@cgXm@MV++StKf}4=9<n7ohufz{q6CA"
    "(l?g4eplb<H}2eV!+h(#j&X{wL81qN$f0e5Jdq!!*g{_5sR;dH+r`dqyT)70%Ax{{key)`C16~EjFobx9g``~D;*69z5@RgY|y<6"
    "e#2O^?vU^s+M9L2#OyKUp;#QU*YSZQAv<~Tl>!Tru!=K_``d~T<M8N1Axz!Q>pl5YU|~#Gg2K$VX?iXvoa#1^7+C0ijAx|GyC#x8"
    "T*FZc0i=6|wdL<nL4dbk3|HSCAa;VjqxkX{3BIR8sO82#k+a_6j$XKNg}-|f>?=rJUk5N@So(fx{cegaw~owJN3)no2tCA5Tu7X>"
    "I{PHn!MSn@5jOB`Z=oG@0IBVmIfeCj+KULRnQtJV8>kl6qE1uGOK;p`?P_v+Rlv*Jt|pN2C|AG#P;NJFfldYf4&fpe1{I+o(9|}f"
    "2%|`SI)RSW3AT8oV_54$^k?=dLYH$rA2z873&h-HQ1_Nl!vNU1GH%>4Ggq>e$L_}-P}eJbDM+TrEca#W=x%#jW*Da17mf=LIz)12"
    "fMvwzbm%vmNna=}+J13RasmPqBk!==J&nOKa=(1YvM0qT-EzMSt%76PJnEnr7s7g8S??isf$6?DKR)6XLb#=f3AX?yd>Kk9ov=w="
    "dj$Pj5Uz&lc70fU%^Y&g_e&WI8c6)l%AGZ`C@buvYN&6x-xFF&>QjzM=R$b7p!BKx6Ugu9xCxP*e_ogh&3E9)_q3&s4}-?H2D*bk"
    "Qt$OKq<1Pt2{&#BANF6xJd(;Wa{mCdnX;RCtbU1oY)+w8eF0u)#+y<n8wEbZ{+Qa8i{QOIw!>Kz@}q~t_yXvTEBhj#lpSDQBf7WM"
    "HiWbTU;8le$Jz$i>LI<4Tql#UR+^8Jm|#~sY94&kzV!;{kyPT|#-38<B=(Os{PyWNninr$rn}a@Ezz9s$Q`G3b>&0;BQ4<ep-x*$"
    "ow(D6B&%`Dj*y^AOUn7MIx&g~tA{c;T+MbaMx7XCmOz~}j{EL|>Vof#j2;qayER{e1-qkh0(HSiC$-3J4-;#8{t#-=8c!0QdY=<|"
    "ERf}rM#7CqP6!48go~~LLnzyg@xePuV+1vhk5)io1gCRummVdG4yH*^1TT?rdOzvH^Jv(bl-%mB?_9QnuE*kbN!=mh%Jj6hi*p|>"
    "*`%c?eLr~;1?4ul-FT`ys<3pM--q|~$9NoV>%P-Ucq+-3nbKMq)@y#EFf<p7N{oGBXD3UCW{mqg8$<}xG%nZQ;JHrqL1vr(-{EXs"
    "k}igzT5y6D_}Uf~{fNplc*0&a4TWfK8S$8w?hZjDfZoooni5(hjM2Yb7Lih2z?G&kFDGD)EDSPni4x1YPp1|YR}Y5h>HH!WP18s|"
    "Tua(BS3P}SR9S>48N0;Q1d#^U23^9&?Y8^Ute{1dwDA?3n5oa>OwF~Nsl6zTBJ--EeTFZ-8)d!VML=1v>D!o2@RGoYAo4Cc!35{q"
    "h!EQja1h5tV%SG;SoILV5sbX`79j9?v!`jO^>f&|mBS|RgQotR?o3#^b5$L|CjL4T4vln3%ucQ#xYBA1H$(QLC29LOGi3ZC_U+Aj"
    "A%w@blX2vaiJH*Wx^G!c==M0cPwV{ka!Mz4+)nrZRFgtI{FnIGk~(BnDezlUY9IS+3a4HOgxaAe0BHEe7;#u}1})67Ne1QnND{K^"
    "1W7(M!H>KG!K6|_BD<DVu^3zK5&m6YKYw~jZ7o4{80)7PV-!I%Bt%$fg)9u6-dvy+vXX_q#*0fG-Q=aVSdT0%#$ft}<kD}!J92d!"
    "y_IMt#}Iz8gADNJcixja7d)-SzMU7sy)1IFfFrl>Z16*-e;k_YIfsOqXPl_oGKt#i@zvHYmE9m}YjG(^U(P{oxpdD#kX>!j)t30S"
    "L*{aNeS#^oJ!2l>B3W8m4G*y9v76w2rEwwIEb6Z#YH_J%R4FsIB@?yIjaQdZ%uSJDTZW@S&^aeWW?Ff1^U}^~nWI3DzZ7sFz}R0F"
    "fZSpfNNq<Y?HRQ%jBXDJS0bDB&_|Xp9p#X)pCNuc`d8;b47=eF7Q?zS_PpaZJ`f~M^Yr4F@8@<&e<odG>+~QX!4;H|*O;E0@Pda4"
    "RbAQQZ}?CQh4El$IrZRSS)lqbe0JB_z-g|c^gk|y#`!g`C9-b;7puKk#{E7Hc)k@0cv=e}B1aTx+fc&sdEH*BrRoYrlKF#S+^h2d"
    "9`}tDni&uARNIRKM81|I*ME%k*v#Z|gv!Omxgj0{oPt7*++0u%#dg10iIT9Pmr{ynnWqiUg7cKFq`V59b}l0a$NKkx)X`i?{hNT8"
    "DV5UdsUYGDL6R9#&P^E3`U-J~x=tfAj`(EWHq6au!dSHDco36x%W%aT_d4lI#q9D|lS}W=YQP&jjyekc#(l#6AgO%*-oHL4;R^Cl"
    "92z3bg5Xl~Y^Aga+LQIG%rJ3!a9<uB@od0;HE(|kGcWm^FQ5x!<kdwAx+0E|V^VS<=;Xn@5OlA|%*;AJMqaKmz~As<WaGDr0c$+a"
    "U4GUvhWzAN5M1gLimY{yp5)IxFU~H#bh+jx?JJBIw5(*KI7ZuGYR>l^@GJiBr?*AC@d_I=@sy6!UkSWCuf<VZ`zBN#zRlSqgm$6y"
    "zj6btL%>X)?BZ}(AQmW3BDg_z1ciV?r!UqjtKRV@3A#LY-Fn8gQhbMV7h4RswMw;>;Qn5n0EnFWEfXT~rj_E^6<kw&?e5br+&L=*"
    "=#O|gl|bj5o0-mj1HB&EQSabjWRG2@r~~3bC}B(WHBu>TiVz}?WCl++Y-D1QsYez!i$>f~(JAp&x#w7lX7GvEyFKFde#QhB*8+^&"
    "0m$-OiI2<H+eK0tK(&JP*l(s~5B_yo_s;m&`1mND5+f^PEMf)W=@ey<i%Hvrv++;5a~=OWH-!!&88>mJIVfB)zGPCLe~pC*Yo0?s"
    "e=EN{s+{^|k8}01Redckkv4(ycgWOBTQPyp=_n$3)2xn!MQPlGCC5JbAX*&1)GJoY9zzTgOF@k0mv7*sJcmfQvh}o(4toumT`ye)"
    "U)V-oDmMS1$8|Ci|0D0Mokp$xl7=VzS8XKJ3vPD?6<6zRSH1k>wToyeI)ln_;$@~MQ4&GC+_OS+onmHLSX|X@#)~nGf*ax$4g{WD"
    "xRx;Ob6JrhIphP~>8wn_t{;5y+MPg7`5IY#+FS4gUL%34<-K`C{7syN>mr1;UaYNRpcR1Lso)I4NBFp}iPf`7$Bewg^vkMsVuskc"
    "i-_T?vk4&!+Yw<M96+Uk2F_TWVB|R*bizjQ0-i=lczjm`!}N+aiV#3UC8-0*DndC$2z|s)o_lMiZ~8Th7ybO^YXfbt=2H{20?FxW"
    "B`r@8R4#(j_0*2Qi%Dv1rpZmq3M2)>jIZD%iGS123FJ3Vo@V(K7Z)W^jx8EhZG_Epix1%IdJ|(|xsA=?Rq%g^UpG_Mz&EJ^p}t6~"
    "HI<@ituk?}VmTnm597WFNV{tU+2VOiIBkn;n=(D|m!r^%4a^V1Vx4Rgyr7pFhDC&?An+*|Ud<ykHGJk|Dm}=0)C8?gmQU%KUSRBP"
    "<Vo}J>^CT2wUdm8SsBHL!fUK-T%{Sa9={?nq}dZ{lGfZS$^%2S<3$S%n<519o~Je4zuTTt_+Kbq6Hd5_WB$vAS#^h>&d>r0m*T~x"
    "v4`D`awt50-S6czdbJeM_mfMr+S#Uh@?Mhgjd&n{khNy#J!d{!8hZ$wCy5_~BH#p+`ybQa!0Qk~Tdvu5|42x7NEbG)1VmN~v{qnx"
    "$|F6ffzBJdTeD<*rM7mM&oIY$N4i&6|3k*^KJ#iH1P6r|Y5XcNcLU1(&*(=6+r;tqOSO6A2E*)vmfS<Rn8<1)1Ro!5ievt1n!Mua"
    "9}0}E2+w~A6v8wY!=YW(0(Z9B;Xwiik3mo9a5xIPbuqL}FpEP`F(~i7Q=^H}_THn=gzb1o5%6xncUbLSABsVl54=&fXmI#v+t4!t"
    "F%uvLuj+7k1&o=!MM2UT*Ze)8w987$<Qyf~_tRHvStY_u<kHZMx9JnXK_M?762L7lgx`hRR49TKuw`TD8s&X0HB?_l+mr(rsFt!Z"
    "a7QG;^tIGLEX?4hMW(~B+82gUO}Jax()$i9EsW93R39Ns;PlR;_tfqXe3r^3Lbz7wb!Q(6XjW1`C_{=y(X-l-lj}eiVNo-lb@$;~"
    "Qd4B#Zm;=?i2MM}7ZwR&eftcGT=Yj?8UT+1fxVEUgs*$aQ6By7Y)d`W+3f!Qz4Vp4+!*d?Aqkuf)4_*c*SQxLbU!U_f4~;NhgyW}"
    "B*jKlo6=K1^_t}T$2Tg1uN7m%GhS_&&QPlz(O1h`e)jI^8Pc-F(-ZpP7zWHn8ow8)kVh*aiP_Xu&e8p{iq69@31PwX4R{-7XrB1}"
    "${U#`Ud;c!VhL|aoFCDLZHR2-Wq)(;&Ye5^=2;9>k2OW~Sl{`p$GG7uKM?UxHO0&g-@a$`6IC4|EwxsYpI=tWs|ENkc(jeoz+;O%"
    "66rKDY-D1QsYe$#Yka8Rr-=}P_(lC-&F@$Ia(;UBp8E7WdL@_2qO3)$Mz6nzclHMQ%M)gIB{ja|lw<#yF1UQTUA!Kx>-FQ@qgLY1"
    "mI@`-s?H|xs35_=?i$v`z(WF@h~RS6<<c#Vt7u5hO{QAP7i+>^1-%LH2h~&{(aZ8^-^Nm`ZfAS-aYKX<8f}>{msWgGMtFXxVHHUq"
    "EtIf$?pEFDrEt*VC~q1CdS1#XP?x2O1F7^8YKN9PNi^)UGQO<}r<L2gRCh#j$tJC(dWQqCtS>OZxeIgS4*dto{46R-)UwawI$``F"
    "#CA~!)rYCuOD1AN8BZ17C06|ry4r)0T9HfA@)i&V#6%VJP4ryscJ6HAARxYtaGenNC6xQ{<#!P1NR^W$t;HR<EXux6I5nx4l4x-n"
    "6T~x`EfB@pLt6fvGrfElo(CyEkcv5Dekvrc=^#%RW;C1%3wD`S6kZD-1=XUk-3mW4QSr>k(U(CNl0)Kg%L(d<;S+9qS}&;G$uC6V"
    "Q_bVoOfNn%=3CaaMVhczHtM#Bx_C08KMtpm3wdP-R3K2U*L2{uHXOb<s~23wO@P!vz3m-6lWjA8Pq99aH^iUFnFQ_z-N<zRu)`H2"
    "&Y)6AH11`92@UWzA{d3KW<<CSx)EUk?AKi<$E#KA1g~=3tZTXtvA5;F=cN<+W)a~11-Xvv^;yopQTsRiFL<Y{L3}J<Q4qgB=xKvR"
    ">d?LK21hDqwawfFZqI$AdaJ6B28AoXUfDE8tX8A9xXZo84f^IyEdQvt{FLUP(!j}_my*nO!oCDOgVRJEu%_P;LL+^#-iY`lIqI~v"
    "4OOt<Mh}@sGiAua>ffaPe-<c0ss",
)
